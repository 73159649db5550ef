import { describe, expect, it } from "vitest";
import { makeConsole } from "./console.ts";
import { makeErrors } from "../javascript/errors.ts";
import { glueSource } from "./glue.ts";
import { makeInspect } from "./inspect.ts";
import { makeRandom } from "../javascript/random.ts";
import { makeTimers } from "../javascript/timers.ts";
import { makeTools } from "../javascript/tools.ts";

/** Without comments; the glue has no string with either of their beginnings in it. */
const bare = (source: string) => source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/\/\/.*$/gm, "");

const linesWith = (source: string, pattern: RegExp) =>
  bare(source)
    .split("\n")
    .filter((line) => pattern.test(line))
    .map((line) => line.trim());

/** Code that runs while the guest does. What runs before it, and what only the guest itself relies on, is free. */
const BESIDE_THE_GUEST = { makeConsole, makeErrors, makeInspect, makeRandom, makeTimers, makeTools };

/** What looks like syntax and is, to the engine, a call of something that a guest can replace. */
const REPLACEABLE: readonly (readonly [string, RegExp])[] = [
  ["for…of asks for Symbol.iterator", /\bfor\s*(await\s*)?\([^;]*\bof\b/],
  ["array destructuring asks for Symbol.iterator", /\b(const|let|var)\s*\[|\(\s*\[[^\]]*\]\s*\)\s*=>/],
  ["a spread list asks for Symbol.iterator", /\.\.\.(?!args\b|[" ])|[[(,]\s*\.\.\.args\s*[\])](?!\s*=>)/],
  ["a regular expression asks for its methods", /[=(,:]\s*\/(?![/*]).+\/[dgimsuvy]*\s*[.,;)]/],
  ["instanceof asks for Symbol.hasInstance", /\binstanceof\b/],
  ["`in` asks a proxy", /\(\s*("[^"]*"|\w+)\s+in\s+\w+/],
  ["a method of a value is looked up when it is called", /\.(call|apply|bind|then|push|join|map|toString|concat)\(/],
];

describe("the glue's source", () => {
  it("has no template literal: the engine compiles one to a call of String.prototype.concat, the guest's", () => {
    expect(linesWith(glueSource(), /`/)).toEqual([]);
  });

  it.each(REPLACEABLE)("is free of what a guest can replace: %s", (_, pattern) => {
    const found = Object.entries(BESIDE_THE_GUEST).flatMap(([name, part]) =>
      linesWith(String(part), pattern)
        .filter((line) => !line.includes("I.apply("))
        .map((line) => `${name}: ${line}`),
    );
    expect(found).toEqual([]);
  });

  it("is watched by patterns that see what they are for", () => {
    const samples = [
      "for (const a of list) {}",
      "const [a] = list;",
      "call(...list)",
      "x = /a+/g;",
      "a instanceof B",
      'if ("a" in b) {}',
      "list.push(1)",
    ];
    expect(REPLACEABLE.map(([, pattern], i) => pattern.test(samples[i] as string))).toEqual(samples.map(() => true));
    expect(linesWith("const a = `x${b}`; // `\n/* ` */", /`/)).toHaveLength(1);
  });
});
