import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { failed, returned, type Start } from "./expectations.ts";

const CLOCK = 1_700_000_000_000;

/** JSON texts of outcomes that a careless channel would change. */
const OUTCOMES: readonly (readonly [string, string | null])[] = [
  ["nothing", null],
  ["null", "null"],
  ["false", "false"],
  ["an empty string", '""'],
  ["a number", "-0.1"],
  ["NUL and control characters", '"a\\u0000\\u001b\\n"'],
  ["a lone surrogate", '"a\\ud800b"'],
  ["emoji and line separators", '"\u{1f600}\u2028\u2029"'],
  ["a byte order mark", '"\ufeffx"'],
  ["the key __proto__", '{"__proto__":{"a":1},"constructor":1}'],
  ["keys of an array", '{"length":1,"0":[[],{}]}'],
  ["a key named then", '{"then":1}'],
  ["a long text", JSON.stringify("é".repeat(200_000))],
  ["deep nesting", "[".repeat(500) + "]".repeat(500)],
];

export function calls(start: Start): void {
  sending(start);
  outcomes(start);
  ending(start);
}

function sending(start: Start): void {
  it("one after the other: numbered from 1, with path and input, in the order of the output around them", async () => {
    const guest = await start(`
      console.log("before"); const first = await tools.kv.get({ key: "a" });
      console.error("between"); const second = await tools.util.echo(first); console.log("after"); return second`);
    guest.give(await guest.nextCall(), { b: 1 });
    guest.give(await guest.nextCall(), [2]);
    expect((await guest.ended()).outcome).toMatchObject(returned([2]));
    expect(guest.heard.filter(([kind]) => kind !== "idle")).toMatchObject([
      ["stdout", "before\n"],
      ["call", { id: 1, path: "kv.get", input: '{"key":"a"}' }],
      ["stderr", "between\n"],
      ["call", { id: 2, path: "util.echo", input: '{"b":1}' }],
      ["stdout", "after\n"],
    ]);
  });

  it("side by side: all are there before any is settled, and each gets its own outcome", async () => {
    const guest = await start(
      'return await Promise.all(["a", "b", "c"].map((name) => tools.x[name]({ name }).then((value) => name + value)))',
    );
    const made = [await guest.nextCall(), await guest.nextCall(), await guest.nextCall()];
    expect(made.map(({ path, input }) => [path, input])).toEqual(
      ["a", "b", "c"].map((name) => [`x.${name}`, JSON.stringify({ name })]),
    );
    for (const call of made.toReversed()) guest.give(call, call.id);
    expect((await guest.ended()).outcome).toMatchObject(returned(["a1", "b2", "c3"]));
  });

  it("five hundred at once: none is lost, none is mixed up", async () => {
    const code = "return await Promise.all(Array.from({ length: 500 }, (_, i) => tools.util.echo({ i })))";
    const guest = await start(code, { onCall: (call, guest) => guest.give(call, JSON.parse(call.input)) });
    const expected = Array.from({ length: 500 }, (_, i) => ({ i }));
    expect((await guest.ended()).outcome).toMatchObject(returned(expected));
    expect(guest.calls.map(({ id, input }) => [id, input])).toEqual(
      expected.map(({ i }) => [i + 1, JSON.stringify({ i })]),
    );
  });

  it("an input is the JSON that the program's own JSON.stringify gives; none is an empty object", async () => {
    const inputs = [
      '{ b: 1, a: [undefined, null], c: undefined, "2": 0, "1": 0 }',
      '"a\\0\\ud800é\\u{1f600}\\u2028"',
      '{ ["__proto__"]: { a: 1 } }',
      "new Date(0)",
      "{ toJSON() { return [1] } }",
      "[NaN, -0, 1e21]",
    ];
    const guest = await start(
      `for (const input of [${inputs.join()}]) await tools.util.echo(input); await tools.util.echo();
       return [${inputs.join()}].map((input) => JSON.stringify(input))`,
      { onCall: (call, guest) => guest.give(call) },
    );
    const { outcome } = await guest.ended();
    expect(outcome).toMatchObject(returned(guest.calls.slice(0, -1).map(({ input }) => input)));
    expect(guest.calls.at(-1)?.input).toBe("{}");
  });

  it.each(["10n", "() => 1", "Symbol()", "{ a: [10n] }", "(() => { const o = {}; o.o = o; return o })()"])(
    "an input that is not JSON is refused in the guest, and nobody hears of it: %s",
    async (input) => {
      const code = `try { await tools.util.echo(${input}) } catch (error) { return [error.name, error.code] }`;
      const guest = await start(code);
      expect((await guest.ended()).outcome).toMatchObject(returned(["ToolError", "BAD_TOOL_INPUT"]));
      expect(guest.calls).toEqual([]);
    },
  );
}

function outcomes(start: Start): void {
  it("reach the guest in the order in which they were given", async () => {
    const guest = await start(`
      const seen = []; const note = (name) => tools.x[name]({}).then(() => seen.push(name), () => seen.push("no " + name));
      await Promise.all(["a", "b", "c", "d"].map(note)); return seen`);
    const made = [await guest.nextCall(), await guest.nextCall(), await guest.nextCall(), await guest.nextCall()];
    const [a, b, c, d] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0], (typeof made)[0]];
    guest.give(c);
    guest.refuse(a, "TOOL_FAILED", "broken");
    guest.give(d);
    guest.give(b);
    expect((await guest.ended()).outcome).toMatchObject(returned(["c", "no a", "d", "b"]));
  });

  it.each(OUTCOMES)("are given without loss: %s", async (_, text) => {
    const guest = await start("const value = await tools.x.y({}); return [value === undefined, JSON.stringify(value)]");
    const { id } = await guest.nextCall();
    guest.running.settle({ id, at: CLOCK, result: { ok: true, value: text }, meta: {} });
    const expected = text === null ? [true, null] : [false, JSON.stringify(JSON.parse(text))];
    expect((await guest.ended()).outcome).toMatchObject(returned(expected));
  });

  it("a failure is an error with code, message and path; what else is known is in `meta`", async () => {
    const guest = await start(`
      try { await tools.mail.send({}) } catch (error) {
        return [error instanceof Error, error.name, error.code, error.message, error.path, error.meta] }`);
    const about = { meta: { approvedBy: "ada", edited: { to: ["b"] } } };
    guest.refuse(await guest.nextCall(), "APPROVAL_DENIED", 'no "never"\n', about);
    const expected = [true, "ToolError", "APPROVAL_DENIED", 'no "never"\n', "mail.send", about.meta];
    expect((await guest.ended()).outcome).toMatchObject(returned(expected));
  });

  it("a success has its `meta` on the call's promise", async () => {
    const guest = await start("const call = tools.x.y({}); const value = await call; return [value, call.meta]");
    guest.give(await guest.nextCall(), 1, { meta: { index: 7 } });
    expect((await guest.ended()).outcome).toMatchObject(returned([1, { index: 7 }]));
  });

  it("a failure that nobody catches ends the task with its code", async () => {
    const guest = await start("await tools.mail.send({})");
    guest.refuse(await guest.nextCall(), "APPROVAL_EXPIRED", "nobody decided");
    expect((await guest.ended()).outcome).toMatchObject(failed("APPROVAL_EXPIRED", /nobody decided/));
  });

  it("the guest's clock jumps to when the outcome came, and never back", async () => {
    const guest = await start(
      `const at = []; for (const name of ["a", "b"]) { await tools.x[name]({}); at.push(Date.now()) } return at`,
      { clockStart: CLOCK },
    );
    guest.give(await guest.nextCall(), null, { at: CLOCK + 3_600_000 });
    guest.give(await guest.nextCall(), null, { at: CLOCK + 1000 });
    const { outcome } = await guest.ended();
    const [first, second] = JSON.parse(outcome.kind === "returned" ? (outcome.output ?? "") : "") as [number, number];
    expect(first - CLOCK - 3_600_000).toBeLessThan(10);
    expect(first).toBeGreaterThanOrEqual(CLOCK + 3_600_000);
    expect(second).toBeGreaterThanOrEqual(first);
  });
}

function ending(start: Start): void {
  it("calls that nobody awaits are reported before the end", async () => {
    const guest = await start("void tools.x.a({}); Promise.resolve().then(() => void tools.x.b({})); return 1");
    expect((await guest.ended()).outcome).toMatchObject(returned(1));
    expect(guest.calls.map(({ path }) => path)).toEqual(["x.a", "x.b"]);
  });

  it("a call made right before a failure is reported", async () => {
    const guest = await start('void tools.x.a({}); throw new Error("boom")');
    expect((await guest.ended()).outcome).toMatchObject(failed("GUEST_ERROR", /boom/));
    expect(guest.calls).toHaveLength(1);
  });

  it("a guest that waits for one is ended by TIMEOUT", async () => {
    const guest = await start("await tools.x.a({})", { limits: { timeoutMs: 200 } });
    expect((await guest.ended()).outcome).toMatchObject(failed("TIMEOUT", /200/));
  });

  it("a guest that waits for one is ended by cancelling", async () => {
    const stop = new AbortController();
    const guest = await start("await tools.x.a({})", { signal: stop.signal });
    await guest.nextIdle();
    stop.abort();
    expect((await guest.ended()).outcome).toEqual({ kind: "cancelled" });
  });

  it("an outcome that comes after the end is no error", async () => {
    const guest = await start("void tools.x.a({}); return 1");
    const call = await guest.nextCall();
    await guest.ended();
    guest.give(call, 1);
    const idle = { turn: 1, waits: true, timerMs: null, timerAt: null };
    guest.running.tick(idle);
    guest.running.goLive();
    guest.running.park(idle);
    await sleep(20);
    const next = await start("return 2");
    expect((await next.ended()).outcome).toMatchObject(returned(2));
  });
}
