import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answerFault, answerSchemaFault } from "./answer-schema.ts";

describe("the schema of a question", () => {
  const schema = {
    type: "object",
    properties: { size: { enum: ["S", "M"] }, note: { type: "string", default: "" } },
    required: ["size"],
    additionalProperties: false,
  };

  it("lets a fitting answer through and says what is wrong with another", () => {
    expect(answerFault(schema, { size: "M" })).toBeNull();
    expect(answerFault(schema, { size: "XL" })).toContain("size");
    expect(answerFault(schema, "M")).not.toBeNull();
  });

  it("takes an answer whose schema refers to itself", () => {
    const tree = { $ref: "#/$defs/n", $defs: { n: { type: "array", items: { $ref: "#/$defs/n" } } } };
    expect(answerFault(tree, [[], [[]]])).toBeNull();
    expect(answerFault(tree, [[1]])).not.toBeNull();
  });

  it.each([
    ["a list", []],
    ["null", null],
    ["a broken pattern", { type: "string", pattern: "(" }],
    ["a pointer into nowhere", { $ref: "#/$defs/missing" }],
  ])("refuses %s before anybody is asked", (_, bad) => {
    expect(answerSchemaFault(bad)).not.toBeNull();
  });

  it("leaves nothing behind in zod's global registry, whose ids live for ever", () => {
    expect(answerSchemaFault({ id: "guest-chosen", type: "string" })).toBeNull();
    expect(z.globalRegistry._idmap.has("guest-chosen")).toBe(false);
  });
});
