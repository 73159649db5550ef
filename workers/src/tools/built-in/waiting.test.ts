import { describe, expect, it } from "vitest";
import { call, toolContext } from "../../../testing/tool-context.ts";
import { parseInput } from "../parse-input.ts";
import { ask } from "./human.ts";
import { echo, sleepTool } from "./util.ts";

const accepts = (tool: typeof ask, input: unknown): boolean => parseInput(tool, input).ok;

describe("util.echo", () => {
  it.each([[null], [0], [""], [false], [[]], [{ a: [{}] }], [JSON.parse('{"__proto__":1}')]])(
    "answers %j",
    async (value) => {
      expect(await call(echo, { value })).toEqual(value);
    },
  );

  it("answers null to nothing, and refuses a misspelt field", async () => {
    expect(await call(echo, {})).toBeNull();
    await expect(call(echo, { valeu: 1 })).rejects.toThrow(/valeu/);
  });
});

describe("util.sleep", () => {
  it("parks when long, in whole milliseconds, and runs when short", async () => {
    expect(sleepTool.parks({ ms: 3_000 })).toBeNull();
    expect(sleepTool.parks({ ms: 3_000.5 })).toEqual({ kind: "timer", ms: 3_001 });
    expect(await call(sleepTool, { ms: 1 })).toBeNull();
  });

  it.each([-1, 30 * 24 * 3600_000 + 1, "1", null])("refuses %j", (ms) => {
    expect(accepts(sleepTool, { ms })).toBe(false);
  });

  it("ends at once when its task is cancelled", async () => {
    const controller = new AbortController();
    const sleeping = sleepTool.run(toolContext({ signal: controller.signal }), { ms: 3_000 });
    controller.abort();
    await expect(sleeping).rejects.toThrow(/abort/i);
  });
});

describe("human.ask", () => {
  it("always waits for a person", () => {
    expect(ask.parks({ question: "Ship it?" })).toEqual({ kind: "question" });
  });

  it.each([
    [{ question: "Ship it?" }, true],
    [{ question: "Which?", schema: { enum: ["a", "b"] } }, true],
    [{ question: " " }, false],
    [{}, false],
    [{ question: "Which?", schema: { type: "string", pattern: "(" } }, false],
    [{ question: "Which?", schema: { $ref: "#/nowhere" } }, false],
    [{ question: "Which?", schema: [] }, false],
  ])("takes %j: %s", (input, expected) => {
    expect(accepts(ask, input)).toBe(expected);
  });
});
