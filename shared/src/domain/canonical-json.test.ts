import { describe, expect, it } from "vitest";
import { canonicalJson, MAX_JSON_DEPTH } from "./canonical-json.ts";

const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));

describe("canonical JSON", () => {
  it("is the RFC's own example", () => {
    const value = JSON.parse(String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`);
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it("sorts keys by UTF-16 units, not by code points", () => {
    // U+1F600 begins with the unit D83D, which is below U+FB33, although its code point is above.
    const keys = ["€", "\r", "\ufb33", "1", "😀", "\u0080", "ö"];
    const value = Object.fromEntries(keys.map((key, i) => [key, i]));
    expect(Object.keys(JSON.parse(canonicalJson(value)) as object)).toEqual(
      // JSON.parse lists integer-like keys first; "1" is not the least here.
      ["1", "\r", "\u0080", "ö", "€", "😀", "\ufb33"],
    );
    expect(canonicalJson(value).startsWith(String.raw`{"\r":1,"1":3,`)).toBe(true);
  });

  it("gives one text to any order of keys, at every level", () => {
    const a = JSON.parse('{"b":{"y":1,"x":[{"q":1,"p":2}]},"a":0}') as unknown;
    const b = JSON.parse('{"a":0,"b":{"x":[{"p":2,"q":1}],"y":1}}') as unknown;
    expect(canonicalJson(a)).toBe(canonicalJson(b));
  });

  it("keeps a key called __proto__ and one called toJSON", () => {
    const value = JSON.parse('{"toJSON":1,"__proto__":{"admin":true}}') as unknown;
    expect(canonicalJson(value)).toBe('{"__proto__":{"admin":true},"toJSON":1}');
  });

  it("escapes half a surrogate pair, so that two different halves stay different", () => {
    expect(canonicalJson("\ud800")).toBe(String.raw`"\ud800"`);
    expect(canonicalJson({ "\udc00": 1 })).toBe(String.raw`{"\udc00":1}`);
  });

  it("writes minus zero as zero", () => {
    expect(canonicalJson([-0, 0])).toBe("[0,0]");
  });

  it("leaves an undefined member out, as if it had not been given", () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  it.each([
    ["undefined", undefined],
    ["undefined in an array", [undefined]],
    ["a hole in an array", Array(1)],
    ["NaN", { a: Number.NaN }],
    ["Infinity", [Infinity]],
    ["a bigint", 1n],
    ["a function", { f: () => 1 }],
    ["a symbol", Symbol("s")],
    ["a Date", { at: new Date(0) }],
    ["a Map", new Map()],
  ])("refuses %s instead of losing it", (_, value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });

  it("refuses a value too deep for the stack with a reason, not with an overflow", () => {
    expect(canonicalJson(nested(MAX_JSON_DEPTH))).toHaveLength(2 * MAX_JSON_DEPTH);
    expect(() => canonicalJson(nested(1_000_000))).toThrow(/levels deep/);
  });
});
