import { expect, it } from "vitest";
import { failed, returned, type Run } from "./expectations.ts";

export function results(run: Run): void {
  it.each([
    ["undefined", "", undefined],
    ["null", "return null", null],
    ["false", "return false", false],
    ["a number", "return 0.1 + 0.2", 0.1 + 0.2],
    ["an empty string", 'return ""', ""],
    ["a promise", "return Promise.resolve([1])", [1]],
    ["nested objects in their own order", "return { b: [1, { c: null }], a: {} }", { b: [1, { c: null }], a: {} }],
    ["unicode", 'return "é\\u{1f600}\\u2028"', "é\u{1f600}\u2028"],
    ["a lone surrogate", 'return "a\\ud800b"', "a\ud800b"],
    ["NUL", 'return { "k\\0": "v\\0" }', { "k\0": "v\0" }],
  ])("can be %s", async (_, code, value) => {
    expect((await run(code)).outcome).toMatchObject(returned(value));
  });

  it("gives an input back without loss, also the key __proto__", async () => {
    const input = '{"__proto__":{"a":1},"constructor":"\\u0000\\ud800","2":[],"1":{"__proto__":null}}';
    const ran = await run("return [Object.getPrototypeOf(input) === Object.prototype, input]", { input });
    expect(ran.outcome).toMatchObject({
      kind: "returned",
      output: '[true,{"1":{"__proto__":null},"2":[],"__proto__":{"a":1},"constructor":"\\u0000\\ud800"}]',
    });
  });

  it("sees no input as undefined, and the input null as null", async () => {
    const code = "return typeof input === 'undefined' ? 'none' : input";
    expect((await run(code, { input: null })).outcome).toMatchObject(returned("none"));
    expect((await run(code, { input: "null" })).outcome).toMatchObject(returned(null));
  });
}

/** Author's text on a line of its own, so that a line number means something. */
const onLine3 = (statement: string) => `const first = 1;\n\n  ${statement}\n`;

export function failures(run: Run): void {
  it.each<[string, string, RegExp]>([
    ["a thrown error", onLine3('throw Object.assign(new TypeError("boom"), { code: "E_OWN" });'), /^TypeError: boom$/],
    ["a misspelt name", onLine3("missing();"), /missing/],
    [
      "an error out of a timer",
      onLine3('await new Promise(() => setTimeout(() => { throw new Error("late"); }));'),
      /late/,
    ],
    ["a rejection that nobody handles", onLine3('void Promise.reject(new Error("lost"));'), /lost/],
    ["a syntax error", onLine3("const second = ;"), /SyntaxError/],
  ])("%s is GUEST_ERROR and points at the author's own line", async (_, code, message) => {
    const { outcome } = await run(code);
    expect(outcome).toMatchObject(failed("GUEST_ERROR", message));
    expect(outcome.kind === "failed" && outcome.failure.stack).toMatch(/task\.[jt]s:3\b/);
  });

  it.each([
    ["null", "throw null", /null/],
    ["undefined", "throw undefined", /undefined/],
    ["a string", 'throw "a plain string"', /a plain string/],
    ["an object", "throw { status: 404 }", /404/],
    ["an object that cannot be looked at", "throw new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } })", /./],
    ["a value that is not JSON", "return 10n", /BigInt/],
    ["a promise that nothing can settle", "await new Promise(() => {})", /promise/],
  ])("%s is GUEST_ERROR with words for it", async (_, code, message) => {
    expect((await run(code)).outcome).toMatchObject(failed("GUEST_ERROR", message));
  });
}
