import { describe, expect, it } from "vitest";
import { isPolicyPattern, matchesPattern, patternFault } from "./policy-pattern.ts";

describe("patterns", () => {
  it.each([
    ["kv.get", "kv.get", true],
    ["kv.get", "kv.getAll", false],
    ["kv.get", "kv.get.more", false],
    ["kv.*", "kv.get", true],
    ["kv.*", "kv", false],
    ["kv.*", "kv.a.b", false],
    ["*.get", "kv.get", true],
    ["*.get", "a.kv.get", false],
    ["kv.**", "kv", true],
    ["kv.**", "kv.a.b", true],
    ["kv.**", "kvx.a", false],
    ["**.get", "get", true],
    ["**.get", "a.b.get", true],
    ["a.**.z", "a.z", true],
    ["a.**.z", "a.b.c.z", true],
    ["a.**.z", "a.b.c", false],
    ["a.**.b.**.c", "a.b.x.b.c", true],
    ["kv.create*", "kv.create", true],
    ["kv.create*", "kv.createIssue", true],
    ["kv.create*", "kv.create.issue", false],
    ["kv.*Issue", "kv.createIssue", true],
    ["kv.c*te*e", "kv.createIssue", true],
    ["kv.c*te*x", "kv.createIssue", false],
    ["*", "kv", true],
    ["*", "kv.get", true],
    ["**", "a.b.c", true],
    ["*.*", "a", false],
    ["KV.get", "kv.get", false],
  ])("%s and %s: %s", (pattern, path, expected) => {
    expect(isPolicyPattern(pattern)).toBe(true);
    expect(matchesPattern(pattern, path)).toBe(expected);
  });

  it.each(["", ".", "a.", ".a", "a..b", "a b", "a.***", "a.b**", "**a.b", "1a.b", "a-b", "a.[bc]", "a/b", "ä", "a\n"])(
    "refuses %j with a reason, and it matches nothing",
    (pattern) => {
      expect(patternFault(pattern)).toBeTypeOf("string");
      expect(matchesPattern(pattern, pattern)).toBe(false);
    },
  );

  it("stars do not multiply: a hostile pattern is judged in a moment", () => {
    expect(matchesPattern(`${"*a".repeat(120)}b`, "a".repeat(128))).toBe(false);
    expect(matchesPattern(`${"**.a.".repeat(50)}b`, `${"a.".repeat(63)}a`)).toBe(false);
  });

  it("agrees with a regular expression on every short pattern and path", () => {
    const segments = ["a", "b", "*", "**", "a*"];
    const names = ["a", "b", "ab"];
    const two = (parts: string[]) => parts.flatMap((x) => [x, ...parts.flatMap((y) => [`${x}.${y}`, `${x}.${y}.a`])]);
    for (const pattern of two(segments)) {
      const expected = reference(pattern);
      for (const path of two(names)) {
        expect([pattern, path, matchesPattern(pattern, path)]).toEqual([pattern, path, expected.test(path)]);
      }
    }
  });
});

/** The same language, said another way: each segment brings its leading dot. */
function reference(pattern: string): { test(path: string): boolean } {
  if (pattern === "*") return /^/;
  const parts = pattern
    .split(".")
    .map((part) => (part === "**" ? "(?:\\.[^.]+)*" : part === "*" ? "\\.[^.]+" : `\\.${part.replace("*", "[^.]*")}`));
  const expression = new RegExp(`^${parts.join("")}$`);
  return { test: (path) => expression.test(`.${path}`) };
}
