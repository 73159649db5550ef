import { describe, expect, it } from "vitest";
import { matchesPattern, patternFault } from "./policy-pattern.ts";
import { toolPathFault } from "./tool-path.ts";

describe("a tool's path", () => {
  it.each(["echo", "a.b.c", "_a.B9", "constructor.prototype", "a.thenable", "x".repeat(128)])("may be %s", (path) => {
    expect(toolPathFault(path)).toBeNull();
  });

  it.each(["", ".", "a.", ".a", "a..b", "a-b", "1a", "a b", "ä", "a\n", "a.b*", "a.**"])(
    "may not be %j: each segment is a name",
    (path) => {
      expect(toolPathFault(path)).toMatch(/not a name/);
    },
  );

  it.each(["then", "a.then", "then.a", "a.toString", "a.valueOf", "toJSON", "__proto__.a"])(
    "may not be %s: a guest that asks for it gets no tool",
    (path) => {
      expect(toolPathFault(path)).toMatch(/no guest can call/);
    },
  );

  it("of the greatest length fits a pattern that names it and what is below it", () => {
    const longest = `${"a".repeat(63)}.${"b".repeat(64)}`;
    expect([toolPathFault(longest), patternFault(longest), matchesPattern(longest, longest)]).toEqual([
      null,
      null,
      true,
    ]);
    expect(toolPathFault(`${longest}b`)).toMatch(/129 characters; at most 128/);
    expect(patternFault(`${longest}.**`)).toBeNull();
  });
});
