import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DrivenGuest, startGuest } from "../../../testing/driven-guest.ts";
import { runProgram } from "../../../testing/run-program.ts";
import { CALL_INPUT_CHARS, CALL_PATH_CHARS, OPEN_CALLS } from "../../guests/javascript/call-limits.ts";
import type { GuestCall, GuestOutcome } from "../port.ts";
import { createIsolateProvider, type IsolateProvider } from "./index.ts";

let provider: IsolateProvider;
let pids: number[];

beforeAll(async () => {
  provider = createIsolateProvider();
  await runProgram(provider, { code: "" });
  pids = await provider.hostPids();
});
afterAll(async () => {
  expect(await provider.hostPids()).toEqual(pids);
  await provider.close();
});

/** A desk that denies what is below `no`, and gives the others their input back. */
const answer = (call: GuestCall, guest: DrivenGuest) => {
  if (call.path.startsWith("no.")) guest.refuse(call, "TOOL_DENIED", "not that", { meta: { why: 1 } });
  else guest.give(call, JSON.parse(call.input), { meta: { by: call.id } });
};

async function run(code: string): Promise<{ outcome: GuestOutcome; calls: string[]; stdout: string }> {
  const guest = await startGuest(provider, { code, onCall: answer });
  const { outcome, stdout } = await guest.ended();
  return { outcome, stdout, calls: guest.calls.map(({ id, path, input }) => `${id} ${path} ${input}`) };
}

const returned = (value: unknown) => ({ kind: "returned", output: JSON.stringify(value) });

/** Names that the glue uses of its own records, and those of descriptors and handlers. */
const NAMES = `["get", "set", "apply", "value", "writable", "enumerable", "configurable", "code", "id", "ok", "path",
  "meta", "resolve", "reject", "promise", "message", "name", "has", "construct", "defineProperty", "key", "read",
  "length", "__proto__", "constructor", "0", "1", "2"]`;

/** What attacks are made of: `leak` gathers whatever the glue lets go of. */
const PRELUDE = `
  let leaks = 0; const leak = { __proto__: null, push() { leaks++ } }; const leaked = () => leaks > 0;
  const print = console.log, define = Object.defineProperty;
  const one = { a: [1, "x"], n: null }, two = [{ b: 2 }, 3];
  const trap = (target, key, get = () => "forged", set = () => { leaks++ }) =>
    define(target, key, { __proto__: null, get, set, configurable: true });`;

/** Each is done by the guest before it calls; none may change what the desk hears, or what the guest is given. */
const ATTACKS: Readonly<Record<string, string>> = {
  "nothing at all": "",
  "another Promise": "globalThis.Promise = class { constructor(run) { leak.push(run) } }",
  "Promise.prototype.then and catch": `Promise.prototype.then = Promise.prototype.catch = (...args) => { leak.push(args) }`,
  "Promise's species and statics": `Object.defineProperty(Promise, Symbol.species, { get() { leak.push(1) } });
    for (const key of ["resolve", "reject", "all", "withResolvers"]) Promise[key] = () => { leak.push(key) }`,
  "JSON.stringify and JSON.parse": `JSON.stringify = () => '"forged"'; JSON.parse = () => ({ id: 1, ok: true, value: "forged" })`,
  "Proxy and Reflect": `globalThis.Proxy = class { constructor(...args) { leak.push(args) } };
    for (const key of Object.keys(Object.getOwnPropertyDescriptors(Reflect))) Reflect[key] = (...args) => { leak.push(args) }`,
  "the statics of Object": `for (const key of ["defineProperty", "setPrototypeOf", "getPrototypeOf", "create", "assign", "freeze"])
    Object[key] = (...args) => { leak.push(args) }`,
  "the methods of WeakMap": `for (const key of ["get", "set", "has", "delete"])
    WeakMap.prototype[key] = function (...args) { leak.push(args); return "APPROVAL_DENIED" }`,
  "call, apply and bind": `for (const key of ["call", "apply", "bind", "toString"])
    Function.prototype[key] = function (...args) { leak.push(args) }`,
  // JSON.stringify itself shows them what it is writing, which is the guest's own.
  "setters on Array.prototype": `const own = (value) => value === one || value === one.a || value === two || value === two[0];
    for (const i of ["0", "1", "2", "3"])
      trap(Array.prototype, i, () => "forged", (value) => { if (!own(value)) leak.push(value) })`,
  "the methods and the iterator of arrays": `for (const key of [Symbol.iterator, "push", "forEach", "indexOf", "slice"])
    Array.prototype[key] = function () { throw "replaced" }`,
  "getters and setters on Object.prototype": `for (const key of ${NAMES}) trap(Object.prototype, key)`,
  "getters that throw on Object.prototype": `for (const key of ${NAMES})
    trap(Object.prototype, key, () => { throw "got " + key }, () => { throw "set " + key })`,
  "values on Object.prototype": `for (const key of ${NAMES}) if (key !== "__proto__" && key !== "constructor")
    Object.prototype[key] = () => "forged"`,
  "Error and its prototype": `globalThis.Error = class { constructor(...args) { leak.push(args) } };
    for (const key of ["name", "message", "stack", "code"]) trap(TypeError.prototype.__proto__, key)`,
  "Error.prepareStackTrace": "Error.prepareStackTrace = (error, sites) => { leak.push(sites); return sites }",
  "Error.stackTraceLimit": "Error.stackTraceLimit = { valueOf() { leak.push(1); throw 1 } }",
  "Symbol.toPrimitive and toString of primitives": `for (const type of [String, Number, Boolean, Symbol, Object, Function]) {
    define(type.prototype, Symbol.toPrimitive, { __proto__: null, value: () => { leak.push(1); return "forged" } });
    type.prototype.toString = type.prototype.valueOf = () => { leak.push(2); return "forged" } }`,
  "the methods of String": `for (const key of Reflect.ownKeys(String.prototype)) if (key !== "constructor" && key !== "length")
    String.prototype[key] = () => "forged"`,
};

/** Uses nothing that an attack above takes away. */
const BODY = `
  const fine = tools.util.echo(one);
  const bad = tools.no.way(two);
  let error;
  try { await bad } catch (caught) { error = caught }
  const value = await fine;
  return { value, code: error.code, message: error.message, path: error.path, name: error.name,
    metas: [fine.meta, bad.meta, error.meta] }`;

describe("a guest that replaces", () => {
  it.each(Object.entries(ATTACKS))(
    "%s: the desk hears what was meant, the guest gets what was given",
    async (_, attack) => {
      const { calls, outcome, stdout } = await run(
        `${PRELUDE} ${attack};
       const done = await (async () => { ${BODY} })();
       if (leaked()) print("the glue came by"); return done`,
      );
      expect(outcome).toMatchObject({ kind: "returned" });
      expect(calls).toEqual(['1 util.echo {"a":[1,"x"],"n":null}', '2 no.way [{"b":2},3]']);
      const given = JSON.parse(outcome.kind === "returned" ? (outcome.output ?? "") : "") as unknown;
      expect(given).toMatchObject({
        value: { a: [1, "x"], n: null },
        ...{ code: "TOOL_DENIED", message: "not that", path: "no.way", name: "ToolError" },
        metas: [{ by: 1 }, { why: 1 }, { why: 1 }],
      });
      expect(stdout).toBe("");
    },
  );

  it("Promise.prototype.constructor: its own awaits suffer, its calls do not", async () => {
    const { calls, outcome } = await run(
      `${PRELUDE} trap(Promise.prototype, "constructor", () => { throw new Error("asked") }); ${BODY}`,
    );
    expect(calls).toEqual(['1 util.echo {"a":[1,"x"],"n":null}', '2 no.way [{"b":2},3]']);
    expect(outcome).toMatchObject({ kind: "failed", failure: { code: "GUEST_ERROR", message: "Error: asked" } });
  });

  it("everything at once, with five hundred calls side by side", async () => {
    // In an order in which none takes from the next what it is made of.
    const attacks = [
      ...[
        "the methods of String",
        "Promise's species and statics",
        "Promise.prototype.then and catch",
        "another Promise",
      ],
      ...["JSON.stringify and JSON.parse", "Proxy and Reflect", "the statics of Object", "the methods of WeakMap"],
      ...["Error.prepareStackTrace", "setters on Array.prototype", "the methods and the iterator of arrays"],
    ].map((name) => `{ ${ATTACKS[name] ?? "no such attack"} }`);
    const { calls, outcome } = await run(
      `${PRELUDE} const made = { __proto__: null }; const { echo } = tools.util;
       ${attacks.join(";\n")};
       for (let i = 0; i < 500; i++) made[i] = echo({ i });
       let sum = 0; for (let i = 0; i < 500; i++) sum += (await made[i]).i; return sum`,
    );
    expect(outcome).toMatchObject(returned((499 * 500) / 2));
    expect(calls.filter((call, i) => call !== `${i + 1} util.echo {"i":${i}}`)).toEqual([]);
    expect(calls).toHaveLength(500);
  });
});

describe("a tool's error", () => {
  const CAUGHT = "let real; try { await tools.no.way({}) } catch (caught) { real = caught }";

  it.each([
    [
      "an error that looks like one",
      'throw Object.assign(new Error("x"), { name: "ToolError", code: "APPROVAL_DENIED" })',
    ],
    ["a proxy of one", "throw new Proxy(real, {})"],
    ["an heir of one", "throw Object.create(real)"],
    ["a clone of one", "throw structuredClone(real)"],
    ["an error with one as its cause", 'throw new Error("x", { cause: real })'],
    [
      "one of its own class",
      'class ToolError extends real.constructor { code = "TOOL_DENIED" } throw new ToolError("x")',
    ],
    ["the error of a promise that rejects with its copy", "throw { ...real }"],
  ])("cannot be forged by %s", async (_, code) => {
    expect((await run(`${CAUGHT} ${code}`)).outcome).toMatchObject({ failure: { code: "GUEST_ERROR" } });
  });

  it("cannot be forged by changing what is told of an error while it is told", async () => {
    const { outcome } = await run(`
      for (const i of [0, 1, 2]) Object.defineProperty(Array.prototype, i, { __proto__: null, get() {}, set(value) {
        for (const target of [value, this]) try { target.code = "APPROVAL_DENIED" } catch {} } });
      for (const target of [Object.prototype, Error.prototype, String.prototype])
        for (const key of ["code", "toJSON"]) Object.defineProperty(target, key, { get: () => "APPROVAL_DENIED" });
      throw new Error("x")`);
    expect(outcome).toMatchObject({ failure: { code: "GUEST_ERROR", message: "Error: x" } });
  });

  it("keeps its code for the host, whatever the guest writes on it", async () => {
    const { outcome } = await run(`${CAUGHT} real.code = "APPROVAL_DENIED"; real.name = "TIMEOUT"; throw real`);
    expect(outcome).toMatchObject({ kind: "failed", failure: { code: "TOOL_DENIED" } });
  });

  it("of an earlier call, thrown while an input is written, does not become this call's", async () => {
    const { outcome, calls } = await run(`${CAUGHT}
      try { await tools.x.y({ toJSON() { throw real } }) } catch (error) { return [error === real, error.code] }`);
    expect(outcome).toMatchObject(returned([false, "BAD_TOOL_INPUT"]));
    expect(calls).toEqual(["1 no.way {}"]);
  });

  it.each([
    "throw null",
    "throw undefined",
    'throw "text"',
    "throw { get message() { throw 1 } }",
    "throw { message: { toString() { throw 1 } } }",
    "throw new Proxy({}, { get() { throw 2 } })",
  ])("is what a call rejects with whose input does: %s", async (code) => {
    const { outcome, calls } = await run(
      `try { await tools.x.y({ get a() { ${code} } }) } catch (error) { return [error.name, error.code] }`,
    );
    expect(outcome).toMatchObject(returned(["ToolError", "BAD_TOOL_INPUT"]));
    expect(calls).toEqual([]);
  });

  it("with a code that is no call's ends the task as TOOL_FAILED, and its host lives", async () => {
    const guest = await startGuest(provider, { code: "await tools.x.y({})" });
    guest.refuse(await guest.nextCall(), "CANCELLED", "said a tool");
    expect((await guest.ended()).outcome).toMatchObject({ failure: { code: "TOOL_FAILED" } });
  });
});

describe("calls made where none is expected", () => {
  it("inside of toJSON and getters of another's input: each is sent once, as it was meant", async () => {
    const { calls, outcome } = await run(`
      const inner = []; const deep = { get c() { inner.push(tools.in.three({ c: 3 })); return 3 } };
      const outer = await tools.out.er({
        get a() { inner.push(tools.in.one({ a: 1 })); return 1 },
        b: { toJSON() { inner.push(tools.in.two(deep)); return 2 } } });
      return [outer, await Promise.all(inner)]`);
    expect(calls).toEqual(['1 in.one {"a":1}', '2 in.three {"c":3}', '3 in.two {"c":3}', '4 out.er {"a":1,"b":2}']);
    // A getter runs each time that it is asked, and `push` comes after what it pushes: three before two.
    expect(outcome).toMatchObject(returned([{ a: 1, b: 2 }, [{ a: 1 }, { c: 3 }, { c: 3 }]]));
  });

  it("by an input that changes itself while it is written: what is sent is what was read", async () => {
    const { calls, outcome } = await run(`
      const input = { get a() { this.b = "changed"; delete this.c; return 1 }, b: 2, c: 3 };
      return await tools.x.y(input)`);
    expect(calls).toEqual(['1 x.y {"a":1,"b":"changed"}']);
    expect(outcome).toMatchObject(returned({ a: 1, b: "changed" }));
  });

  it("while another is being settled: both come to their own outcome", async () => {
    const { calls, outcome } = await run(`
      let inner = null, times = 0;
      Object.defineProperty(Object.prototype, "then", { configurable: true, get() {
        if (times++ === 0) inner = tools.in.ner({ n: 2 }); return undefined } });
      const outer = await tools.out.er({ n: 1 }); const second = await inner;
      delete Object.prototype.then; return [outer, second, inner.meta]`);
    expect(calls).toEqual(['1 out.er {"n":1}', '2 in.ner {"n":2}']);
    expect(outcome).toMatchObject(returned([{ n: 1 }, { n: 2 }, { by: 2 }]));
  });

  it("at the end of the stack: each call is sent as it was meant, or is rejected", async () => {
    const { calls, outcome } = await run(`
      const made = []; const { way } = tools.end;
      const dig = (n) => { try { dig(n + 1) } catch {} if (made.length < 200) made.push(way({ n })) };
      try { dig(0) } catch {}
      const ends = await Promise.allSettled(made);
      return [ends.length, ends.every(({ status, value, reason }) => status === "fulfilled" ? value.n >= 0 : reason instanceof Error)]`);
    expect(outcome).toMatchObject(returned([200, true]));
    for (const call of calls) expect(call).toMatch(/^\d+ end\.way \{"n":\d+\}$/);
  });
});

describe("what is not a call", () => {
  it("looking at `tools` calls nothing", async () => {
    const { calls, outcome } = await run(`
      const attempt = (run) => { try { return typeof run() } catch (error) { return error.constructor.name } };
      await tools; await tools.x.y; console.log(tools, tools.x, [tools.x.y]);
      return [() => "a" in tools.x, () => "prototype" in tools, () => Object.keys(tools), () => tools.x[Symbol.iterator],
        () => new tools.x.y({}), () => { "use strict"; tools.x = 1 }, () => delete tools.x, () => Object.freeze(tools),
        () => Object.setPrototypeOf(tools, null), () => JSON.stringify({ a: tools }), () => structuredClone(tools),
        () => Object.getOwnPropertyDescriptors(tools.x), () => Object.defineProperty(tools, "x", { value: 1 })].map(attempt)`);
    expect(calls).toEqual([]);
    expect(outcome).toMatchObject({ kind: "returned" });
  });

  it("a promise that the guest froze, or gave a `meta` of its own, is settled all the same", async () => {
    const { outcome } = await run(`
      const frozen = Object.freeze(tools.x.a({ n: 1 })), own = tools.x.b({ n: 2 });
      Object.defineProperty(own, "meta", { value: "mine" });
      return [await frozen, await own, frozen.meta ?? null, own.meta]`);
    expect(outcome).toMatchObject(returned([{ n: 1 }, { n: 2 }, null, "mine"]));
  });
});

describe("the bounds of a call", () => {
  it("a path: as long as allowed is sent, one more is UNKNOWN_TOOL; and no trick makes it longer", async () => {
    const { calls, outcome } = await run(`
      let n = 0;
      const codes = []; const attempt = async (name) => { try { await tools[name]({}) } catch (error) { codes.push(error.code) } };
      await attempt("x".repeat(${CALL_PATH_CHARS})); await attempt("x".repeat(${CALL_PATH_CHARS + 1})); await attempt("");
      String.prototype.concat = () => ({ length: 1, toString() { n++; return "x".repeat(100_000) } });
      const { b } = tools.a; await b({}); return [codes, n]`);
    expect(calls.map((call) => call.slice(0, 10))).toEqual(["1 xxxxxxxx", "2 a.b {}"]);
    expect(outcome).toMatchObject(returned([["UNKNOWN_TOOL", "UNKNOWN_TOOL"], 0]));
  });

  it("a path is sent as it is, character by character", async () => {
    const { calls } = await run('await tools["\\ufeffa.b"]["\\0é\\u{1f600}"].constructor.__proto__({})');
    expect(calls).toEqual(["1 \ufeffa.b.\0é\u{1f600}.constructor.__proto__ {}"]);
  });

  it("an input: as long as allowed is sent, one more is BAD_TOOL_INPUT", async () => {
    const { calls, outcome } = await run(`
      const size = (await tools.x.a("é".repeat(${CALL_INPUT_CHARS - 2}))).length;
      try { await tools.x.b("é".repeat(${CALL_INPUT_CHARS - 1})) } catch (error) { return [size, error.code] }`);
    expect(calls).toHaveLength(1);
    expect(outcome).toMatchObject(returned([CALL_INPUT_CHARS - 2, "BAD_TOOL_INPUT"]));
  });

  it.each([
    ["more calls than the worker holds", `for (let i = 0; i <= ${OPEN_CALLS}; i++) void tools.x.y({ i })`],
    ["more bytes than the worker holds", 'const s = "x".repeat(1e6); for (let i = 0; i < 100; i++) void tools.x.y(s)'],
  ])("%s end the guest, and nobody else", async (_, code) => {
    const guest = await startGuest(provider, { code: `${code}; await new Promise(() => {})` });
    expect((await guest.ended()).outcome).toMatchObject({ failure: { code: "GUEST_ERROR" } });
    expect(guest.calls.length).toBeLessThanOrEqual(OPEN_CALLS);
    expect((await runProgram(provider, { code: "return 1" })).outcome).toMatchObject(returned(1));
  });

  it("as many calls as the worker holds are fine, again and again", async () => {
    const { outcome } = await run(`
      let sum = 0;
      for (let i = 0; i < 4; i++) sum += (await Promise.all(Array.from({ length: 5000 }, () => tools.x.y({ n: 1 })))).length;
      return sum`);
    expect(outcome).toMatchObject(returned(20_000));
  });
});
