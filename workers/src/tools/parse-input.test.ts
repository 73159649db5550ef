import { canonicalJson } from "@airlock/shared/domain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "./define-tool.ts";
import { parseInput } from "./parse-input.ts";

const toolOf = (input: z.ZodObject) =>
  defineTool({ path: "a.b", description: "Does a thing.", input, policy: "auto", run: async () => null });

const anything = toolOf(z.object({ value: z.unknown() }));
const nested = (depth: number): unknown => JSON.parse(`{"value":${"[".repeat(depth)}${"]".repeat(depth)}}`);

describe("the input of a call", () => {
  it("gets its defaults, and running it through once more changes nothing", () => {
    const tool = toolOf(
      z.object({ list: z.array(z.object({ n: z.number().default(1) })), on: z.boolean().default(true) }),
    );
    const once = parseInput(tool, { list: [{}, { n: 2 }] });
    expect(once).toEqual({ ok: true, value: { list: [{ n: 1 }, { n: 2 }], on: true } });
    expect(parseInput(tool, once.ok && once.value)).toEqual(once);
  });

  it("says what is wrong, in few words even for a hundred thousand faults", () => {
    const tool = toolOf(z.object({ list: z.array(z.string()) }));
    const parsed = parseInput(tool, { list: Array.from({ length: 100_000 }, () => 1) });
    expect(parsed).toMatchObject({ ok: false, message: expect.stringContaining("list") });
    expect(parsed.ok ? "" : parsed.message.length).toBeLessThan(2_100);
  });

  it.each([[null], [undefined], ["text"], [[]], [1]])("is an object, not %j", (given) => {
    expect(parseInput(toolOf(z.object({})), given).ok).toBe(false);
  });

  it("keeps a __proto__ that a guest hides in it as data, and out of the tool's prototype chain", () => {
    const given = JSON.parse('{"value":{"__proto__":{"admin":true}},"__proto__":{"value":2}}') as unknown;
    const parsed = parseInput(anything, given);
    expect(parsed.ok && canonicalJson(parsed.value)).toBe('{"value":{"__proto__":{"admin":true}}}');
    expect(parsed.ok && Object.getPrototypeOf(parsed.value)).toBe(Object.prototype);
    expect(parseInput(anything, JSON.parse('{"__proto__":{"value":1}}')).ok).toBe(false);
  });

  it("too deep for the stack is refused, and what is not can be hashed", () => {
    expect(parseInput(anything, nested(500_000)).ok).toBe(false);
    const deepest = Array.from({ length: 1_100 }, (_, i) => parseInput(anything, nested(i + 1))).findLast(
      (parsed) => parsed.ok,
    );
    expect(() => canonicalJson({ path: "a.b", schemaVersion: "1", input: deepest?.ok && deepest.value })).not.toThrow();
    const tree = toolOf(z.object({ value: z.json() }));
    expect(parseInput(tree, nested(990)).ok).toBe(true);
  });

  it("with a number that JSON can write and JavaScript cannot hold is refused, wherever it is", () => {
    expect(parseInput(anything, JSON.parse('{"value":[{"n":1e999}]}')).ok).toBe(false);
    expect(parseInput(anything, JSON.parse('{"value":1e308}')).ok).toBe(true);
  });

  it("that a check would alter unseen is refused: z.url() trims, a custom check may assign", () => {
    const tool = toolOf(
      z.object({
        url: z.url().optional(),
        n: z
          .number()
          .check((payload) => {
            payload.value += 1;
          })
          .optional(),
      }),
    );
    expect(parseInput(tool, { url: "https://example.com" }).ok).toBe(true);
    expect(parseInput(tool, { url: " https://example.com" })).toMatchObject({
      message: expect.stringContaining("input.url"),
    });
    expect(parseInput(tool, { n: 1 })).toMatchObject({ message: expect.stringContaining("input.n") });
  });

  it("whose check throws or waits is refused, and the desk goes on", () => {
    const throwing = z.string().refine(() => {
      throw new Error("broken check");
    });
    const waiting = z.string().refine(async () => true);
    for (const field of [throwing, waiting]) {
      expect(parseInput(toolOf(z.object({ field })), { field: "x" })).toMatchObject({ ok: false });
    }
  });
});
