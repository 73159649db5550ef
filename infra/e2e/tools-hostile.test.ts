import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approve } from "./decisions.ts";
import { type Rig, startRig } from "./rig.ts";
import { look, oneTo, run, seqs } from "./tasks.ts";

let rig: Rig;

beforeAll(async () => {
  rig = await startRig("Postgres alone");
});

afterAll(() => rig.stop());

describe("many calls at once", () => {
  it("500 in parallel: each gets its own answer, and the journal holds each under its own index", async () => {
    const code = `
      const calls = Array.from({ length: 500 }, (_, i) => tools.util.echo({ value: "v" + i }));
      const answers = await Promise.all(calls);
      return answers.every((answer, i) => answer === "v" + i) && calls.every(({ meta }, i) => meta.index === i);`;
    const task = await run(rig.api, code);
    expect(task).toMatchObject({ status: "SUCCEEDED", output: true });
    expect(
      task.toolCalls.map(({ index, path, input, output, status }) => [index, path, input, output, status]),
    ).toEqual(oneTo(500).map((n) => [n - 1, "util.echo", { value: `v${n - 1}` }, `v${n - 1}`, "SUCCEEDED"]));
    expect(seqs(task)).toEqual(oneTo(task.events.length));
    const called = task.events.filter(({ type }) => type === "tool.called").map(({ data }) => data["index"]);
    expect(called).toEqual(oneTo(500).map((n) => n - 1));
    const completed = task.events.filter(({ type }) => type === "tool.completed").map(({ data }) => data["index"]);
    expect(new Set(completed).size).toBe(500);
    for (const index of completed) {
      const [first, second] = task.events.filter(({ data }) => data["index"] === index);
      expect([first?.type, second?.type]).toEqual(["tool.called", "tool.completed"]);
    }
  });

  it("500 increments of one key in parallel, from five programs: the total is exact", async () => {
    const { api } = await rig.tenant();
    const code = `
      const seen = await Promise.all(Array.from({ length: 100 }, () => tools.kv.increment({ key: "n" })));
      return new Set(seen).size;`;
    const tasks = await Promise.all(oneTo(5).map(() => run(api, code)));
    expect(tasks.map(({ output, error }) => [output, error])).toEqual(oneTo(5).map(() => [100, null]));
    expect(await run(api, "return await tools.kv.get({ key: 'n' })")).toMatchObject({ output: 500 });
  });

  it("some fail, some succeed, one is held: each outcome reaches its own call", async () => {
    const code = `
      const settled = await Promise.allSettled([tools.util.echo({ value: 1 }), tools.no.such(), tools.kv.get({ key: 2 }),
        tools.ledger.refuse(), tools.ledger.hang(), tools.util.echo({ value: 6 })]);
      return settled.map(({ value, reason }) => value ?? reason.code);`;
    const codes = [1, "UNKNOWN_TOOL", "BAD_TOOL_INPUT", "TOOL_FAILED", "TOOL_TIMEOUT", 6];
    expect((await run(rig.api, code)).output).toEqual(codes);
  });
});

describe("a program that never awaits", () => {
  it("started calls take effect before its end, held ones end CANCELLED and cannot be approved any more", async () => {
    const { api } = await rig.tenant();
    const code = `
      tools.kv.increment({ key: "n" }); tools.ledger.add({ line: "unawaited" }); tools.ledger.send({ to: "nobody" });
      tools.human.ask({ question: "anyone?" }); tools.util.sleep({ ms: 3600000 }); tools.no.such().catch(() => 0);
      return "gone";`;
    const task = await run(api, code);
    expect(task).toMatchObject({ status: "SUCCEEDED", output: "gone" });
    expect(task.toolCalls.map(({ path, status }) => [path, status])).toEqual([
      ["kv.increment", "SUCCEEDED"],
      ["ledger.add", "SUCCEEDED"],
      ["ledger.send", "CANCELLED"],
      ["human.ask", "CANCELLED"],
      ["util.sleep", "CANCELLED"],
      ["no.such", "FAILED"],
    ]);
    expect(rig.ledger.entries(task.id).map(({ tool }) => tool)).toEqual(["add"]);
    expect(await run(api, "return await tools.kv.get({ key: 'n' })")).toMatchObject({ output: 1 });
    expect(task.approvals.map(({ status }) => status)).toEqual(["CANCELLED", "CANCELLED"]);
    const [approval] = task.approvals;
    if (approval) await expect(approve(api, approval)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(rig.ledger.entries(task.id)).toHaveLength(1);
    expect(task.events.at(-1)?.type).toBe("task.succeeded");
    expect(seqs(task)).toEqual(oneTo(task.events.length));
  });

  it("a rejection that nobody handles fails it, with the tool's code", async () => {
    const code = "tools.no.such(); await tools.util.sleep({ ms: 200 }); return 1";
    expect(await run(rig.api, code)).toMatchObject({ status: "FAILED", error: { code: "UNKNOWN_TOOL" } });
  });
});

/** What leaves the guest: nothing (a coded rejection), or the JSON that stands here. */
const INPUTS: readonly { name: string; input: string; before?: string; sent: string | null }[] = [
  { name: "a function", input: "{ value: () => 1 }", sent: null },
  { name: "a function deep inside", input: "{ value: [{ a: [class {}] }] }", sent: null },
  { name: "a function in place of the input", input: "() => 1", sent: null },
  { name: "a symbol", input: "{ value: Symbol('s') }", sent: null },
  { name: "a BigInt", input: "{ value: 10n }", sent: null },
  { name: "a BigInt in place of the input", input: "10n", sent: null },
  { name: "a cycle", before: "const a = {}; a.a = a;", input: "{ value: a }", sent: null },
  { name: "a cycle in place of the input", before: "const a = []; a.push(a);", input: "a", sent: null },
  { name: "10 MB", input: "{ value: 'x'.repeat(10 * 1024 * 1024) }", sent: null },
  { name: "10 MB out of a small value", input: "{ value: Array(100).fill('x'.repeat(1e5)) }", sent: null },
  {
    name: "50,000 levels",
    before: "let a = 1; for (let i = 0; i < 5e4; i++) a = [a];",
    input: "{ value: a }",
    sent: null,
  },
  { name: "a getter that throws", input: "{ get value() { throw new Error('boo') } }", sent: null },
  { name: "a proxy that throws", input: "new Proxy({}, { ownKeys() { throw null } })", sent: null },
  { name: "a toJSON that throws", input: "{ value: { toJSON() { throw 1 } } }", sent: null },
  { name: "a text", input: "'text'", sent: null },
  { name: "null", input: "null", sent: null },
  { name: "a list", input: "[{ value: 1 }]", sent: null },
  { name: "an own __proto__ beside the fields", input: `JSON.parse('{"value":1,"__proto__":{"x":1}}')`, sent: null },
  { name: "undefined", input: "undefined", sent: "{}" },
  { name: "a field that is undefined", input: "{ value: undefined }", sent: "{}" },
  {
    name: "an own __proto__ in a value",
    input: `{ value: JSON.parse('{"b":2,"__proto__":{"a":1},"constructor":3}') }`,
    sent: '{"value":{"b":2,"__proto__":{"a":1},"constructor":3}}',
  },
  { name: "a prototype with fields", input: "Object.create({ value: 'inherited' })", sent: "{}" },
  { name: "__proto__ as a literal", input: "{ value: 1, __proto__: { value: 2, x: 3 } }", sent: '{"value":1}' },
  { name: "NaN and Infinity", input: "{ value: [NaN, -Infinity, -0] }", sent: '{"value":[null,null,0]}' },
  { name: "a NUL and half a surrogate pair", input: "{ value: 'a\\0b\\ud800' }", sent: '{"value":"a\\u0000b\\ud800"}' },
  {
    name: "a date and a map",
    input: "{ value: [new Date(0), new Map([[1, 2]])] }",
    sent: '{"value":["1970-01-01T00:00:00.000Z",{}]}',
  },
  {
    name: "a getter that answers otherwise each time",
    before: "let n = 0;",
    input: "{ get value() { return n++ } }",
    sent: '{"value":0}',
  },
  { name: "a toJSON of the guest's", input: "{ value: { toJSON: () => 'other' } }", sent: '{"value":"other"}' },
  {
    name: "a proxy that lies",
    before: "let n = 0;",
    input: "new Proxy({ value: 1 }, { get: (o, k) => (k === 'value' ? ++n : o[k]) })",
    sent: '{"value":1}',
  },
];

describe("whatever a guest passes is a coded rejection, or arrives as what it is", () => {
  it.each(INPUTS)("$name", async ({ before = "", input, sent }) => {
    const code = `${before}
      let answer;
      try { answer = { got: await tools.util.echo(${input}) } } catch (error) { answer = { code: error.code, is: error instanceof Error } }
      return [answer, await tools.util.echo({ value: "well" })];`;
    const task = await run(rig.api, code);
    expect(task).toMatchObject({ status: "SUCCEEDED" });
    const [answer, after] = task.output as [unknown, unknown];
    expect(after).toBe("well");
    const done = task.toolCalls.filter(({ status }) => status === "SUCCEEDED");
    if (sent === null) {
      expect(answer).toEqual({ code: "BAD_TOOL_INPUT", is: true });
      expect(done.map((call) => [call.path, call.input])).toEqual([["util.echo", { value: "well" }]]);
      return;
    }
    const value = (JSON.parse(sent) as { value?: unknown }).value ?? null;
    expect(JSON.stringify(answer)).toBe(JSON.stringify({ got: value }));
    expect(done.map((call) => [call.index, call.path])).toEqual([
      [0, "util.echo"],
      [1, "util.echo"],
    ]);
    expect(JSON.stringify(done[0]?.input)).toBe(sent);
    expect(JSON.stringify(done[0]?.output)).toBe(JSON.stringify(value));
  });
});

const PATHS: readonly [string, string][] = [
  ["tools.__proto__.x({})", "UNKNOWN_TOOL"],
  ["tools.constructor.constructor('return 1')", "UNKNOWN_TOOL"],
  ["tools.kv.prototype({})", "UNKNOWN_TOOL"],
  ["tools.kv.get.call(null, { key: 'k' })", "UNKNOWN_TOOL"],
  ["tools({})", "UNKNOWN_TOOL"],
  ["tools['']['']({})", "UNKNOWN_TOOL"],
  ["tools['kv.get\\0']({ key: 'k' })", "UNKNOWN_TOOL"],
  ["tools['\\ud800'].x({})", "UNKNOWN_TOOL"],
  ["tools['x'.repeat(100000)]({})", "UNKNOWN_TOOL"],
  ["tools[{ toString: () => 'kv' }].get({ key: 1 })", "BAD_TOOL_INPUT"],
];

describe("whatever path a guest asks for", () => {
  it.each(PATHS)("%s rejects with %s, and the program goes on", async (call, code) => {
    const program = `const told = await ${call}.then(() => "worked", (error) => error.code);
      return [told, await tools.util.echo({ value: 1 })]`;
    const task = await run(rig.api, program);
    expect(task).toMatchObject({ status: "SUCCEEDED", output: [code, 1] });
    expect(task.toolCalls.filter(({ status }) => status === "SUCCEEDED").map(({ path }) => path)).toEqual([
      "util.echo",
    ]);
  });

  it("the proxy is no promise, no text and no place to keep things", async () => {
    const code = `
      const plain = await tools.kv;
      try { tools.kv.get = () => "mine" } catch {}
      try { delete tools.kv } catch {}
      const own = Object.keys(tools).length + ("kv" in tools ? 1 : 0);
      return [plain === undefined, typeof plain, own, await tools.kv.get({ key: "none" })];`;
    expect(await run(rig.api, code)).toMatchObject({ status: "SUCCEEDED", output: [false, "function", 0, null] });
  });
});

/** Each is done to the guest's own globals before it calls. */
const OVERRIDES: readonly string[] = [
  "globalThis.Promise = class { constructor() { throw new Error('mine') } }",
  "Promise.prototype.then = () => { throw new Error('mine') }",
  'JSON.stringify = () => \'{"key":"evil","value":1}\'',
  "JSON.parse = () => ({ key: 'evil' })",
  "globalThis.JSON = null",
  "globalThis.Proxy = function () { return { get: () => 'evil' } }",
  "globalThis.Reflect = null; globalThis.Object = null",
  "Array.prototype.push = () => { throw new Error('mine') }; Array.prototype[Symbol.iterator] = null",
  "Array.prototype.join = () => 'evil'; String.prototype.concat = () => 'evil'; Array.prototype.map = null",
  "Object.prototype.get = () => 'evil'; Object.prototype.apply = () => 'evil'",
  "Object.defineProperty(Object.prototype, 'path', { set() { throw new Error('mine') }, get: () => 'evil' })",
  "Object.defineProperty(Object.prototype, 'id', { set() {}, get: () => 1 })",
  "Object.prototype.code = 'EVIL'; Object.prototype.ok = true; Object.prototype.value = 'evil'; Object.prototype.meta = {}",
  "Error.prepareStackTrace = (e, frames) => { throw frames }; Error.stackTraceLimit = { valueOf() { throw 1 } }",
  "globalThis.Error = function () { return { code: 'MINE' } }",
  "Function.prototype.call = null; Function.prototype.apply = null; Function.prototype.bind = null",
  "Map.prototype.set = null; Map.prototype.get = null; WeakMap.prototype.set = () => { throw 1 }",
  "Symbol.prototype[Symbol.toPrimitive] = () => { throw 1 }; Number.prototype.toString = () => 'evil'",
  "Object.freeze(Promise.prototype); Object.freeze(Object.prototype); Object.freeze(Function.prototype)",
];

describe("a guest that overrides what the glue stands on fools only itself", () => {
  it.each(OVERRIDES)("%s", async (override) => {
    const { api } = await rig.tenant();
    const key = "good";
    const task = await run(api, `${override};\nawait tools.kv.put({ key: "good", value: { n: [1] } });\nreturn "done"`);
    // It may break its own program, not the desk: what the journal shows is what took effect, and nothing else is.
    for (const call of task.toolCalls) expect([call.path, call.input]).toEqual(["kv.put", { key, value: { n: [1] } }]);
    const seen = await run(api, "return [await tools.kv.get({ key: 'good' }), await tools.kv.get({ key: 'evil' })]");
    const worked = task.toolCalls[0]?.status === "SUCCEEDED";
    expect(seen.output).toEqual([worked ? { n: [1] } : null, null]);
    if (task.status === "SUCCEEDED") expect([worked, task.output]).toEqual([true, "done"]);
    else expect(task).toMatchObject({ status: "FAILED", error: { code: "GUEST_ERROR" } });
  });

  it.each(OVERRIDES)("a refusal after %s still has its code where the program gets to see it", async (override) => {
    const code = `${override};\ntry { await tools.no.such({}); return "worked" } catch (error) { return error.code }`;
    const task = await run(rig.api, code);
    if (task.status === "SUCCEEDED") expect(task.output).toBe("UNKNOWN_TOOL");
    else expect(task.error?.code).toMatch(/^(GUEST_ERROR|UNKNOWN_TOOL)$/);
    expect((await look(rig.api, task.id)).toolCalls.every(({ status }) => status === "FAILED")).toBe(true);
  });
});
