import { format } from "node:util";
import { runInThisContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { useGuest } from "../../../testing/guest.ts";

const guest = useGuest();

/** Arguments of console.log that come out as Node prints them. */
const LIKE_NODE = [
  '"text", 1, 1.5, -0, NaN, true, null, undefined, 10n, Symbol("s")',
  '"it\'s", ["it\'s", \'say "x"\', "two\\nlines", ""]',
  '{ a: 1, b: "x", "odd key": [1, 2], 5: undefined }',
  "[], {}, [[]], [{}], [[[[1]]]], { a: { b: { c: { d: 1 } } } }",
  "[1, , 3], new Array(3), [undefined, null]",
  'new Map([["k", { v: 1 }], [{}, []]]), new Set([1, "a"]), new Map(), new Set()',
  "new Uint8Array([1, 2]), new Float64Array(0)",
  "new Date(0), /a+/gi, new Date(NaN)",
  "new (class Point { x = 1; y = 2 })(), class Point {}, new (class Empty {})()",
  "() => 1, function named() {}, Object.assign(() => 1, { a: 1 }), Math.max",
  "Object.create(null), Object.assign(Object.create(null), { a: 1 })",
  "{ get a() { return 1 }, set b(v) {}, get c() { return 1 }, set c(v) {} }",
  "(() => { const o = { name: 'o' }; o.self = o; o.list = [o]; return o })()",
  '["long".repeat(10), "long".repeat(10)], { key: "long".repeat(20) }',
  '"%s is %d years, %i, %f, %j, 100%%", "Bob", 42.5, 42.9, "1.5", { a: 1 }',
  '"%s", "a", "b"',
  '"100%", 5',
  '"%d"',
  '"%x %s", 1',
  '"%c styled", "color: red"',
  '"%i %d", "12px", "12px"',
  '{ [Symbol("key")]: 1, [Symbol()]: 2, [Symbol("it\'s")]: 3, "odd key": 4 }',
  'new URLSearchParams("a=1&b=x y&a="), [new URLSearchParams("")], { params: new URLSearchParams("a=\'") }',
  'new URL("http://u:p@a.b:81/c?d=1#e"), [new URL("https://host")]',
  '"%d %i %f", () => 1, {}, Symbol("s")',
  "",
  '""',
];

describe("console.log", () => {
  it.each(LIKE_NODE)("prints (%s) as Node does", async (args) => {
    const expected = format(...(runInThisContext(`[${args}]`) as unknown[]));
    expect((await guest.prints(`console.log(${args})`)).stdout).toBe(`${expected}\n`);
  });

  it("shows an error with the author's lines, its cause and its own properties, and no line of the glue", async () => {
    const code = 'console.log(Object.assign(new TypeError("bad", { cause: new Error("deep") }), { code: "E_BAD" }))';
    const { stdout } = await guest.prints(code);
    expect(stdout).toMatch(/^TypeError: bad\n {4}at .*task\.js:1/);
    expect(stdout).toMatch(/\[cause\]: Error: deep/);
    expect(stdout).toMatch(/code: 'E_BAD'/);
    expect(stdout).not.toContain("airlock:");
  });

  it("stops after a hundred items, so that a large array is no flood", async () => {
    const { stdout } = await guest.prints("console.log(Array.from({ length: 1000 }, (_, i) => i))");
    expect(stdout).toContain("... 900 more items");
  });

  it("calls no getter and survives a proxy that throws", async () => {
    const code =
      "let got = 0; console.log({ get a() { return ++got } }, new Proxy({}, { ownKeys() { throw 1 } })); return got";
    expect(await guest.value(code)).toBe(0);
  });
});

describe("console", () => {
  it("warn, error, trace and a failed assert go to stderr, the others to stdout", async () => {
    const code = `console.warn("w"); console.error("e"); console.assert(false, "a %s", 1); console.assert(true, "never");
      console.log("l"); console.info("i"); console.debug("d"); console.dir({ a: 1 })`;
    expect(await guest.prints(code)).toMatchObject({
      stdout: "l\ni\nd\n{ a: 1 }\n",
      stderr: "w\ne\nAssertion failed: a 1\n",
    });
  });

  it("group indents every line until its end", async () => {
    const code = `console.group("outer"); console.log("one\\ntwo"); console.group(); console.error("deep");
      console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log("out")`;
    expect(await guest.prints(code)).toMatchObject({ stdout: "outer\n  one\n  two\nout\n", stderr: "    deep\n" });
  });

  it("count counts by label", async () => {
    const code = 'console.count(); console.count("x"); console.count(); console.count("__proto__")';
    expect((await guest.prints(code)).stdout).toBe("default: 1\nx: 1\ndefault: 2\n__proto__: 1\n");
  });

  it("countReset begins a count anew, and only that one", async () => {
    const code = 'console.count("x"); console.count(); console.countReset("x"); console.count("x"); console.count()';
    expect((await guest.prints(code)).stdout).toBe("x: 1\ndefault: 1\nx: 1\ndefault: 2\n");
  });

  it("its methods work without it, as in promise.then(console.log)", async () => {
    expect((await guest.prints('await Promise.resolve("x").then(console.log)')).stdout).toBe("x\n");
  });
});
