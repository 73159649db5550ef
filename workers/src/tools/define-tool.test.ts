import { describe, expect, it } from "vitest";
import { z } from "zod";
import { call, toolContext } from "../../testing/tool-context.ts";
import { defineTool, isTool } from "./define-tool.ts";
import { manifestOf } from "./manifest.ts";

const minimal = { description: "Does a thing.", policy: "auto", run: async () => null } as const;
const withInput = (input: z.ZodObject) => defineTool({ ...minimal, path: "a.b", input });
const withField = (field: z.ZodType) => withInput(z.object({ field }));

describe("a path", () => {
  it("that no guest could call is refused with the tool's name", () => {
    expect(defineTool({ ...minimal, path: "a.b", input: z.object({}) }).path).toBe("a.b");
    for (const path of ["", "a-b", "a.then", "a.toString", "x".repeat(129)]) {
      expect(() => defineTool({ ...minimal, path, input: z.object({}) })).toThrow(/^tool ".*its path has/);
    }
  });
});

describe("a schema that would run something else than was shown is refused", () => {
  it.each([
    ["transform", z.string().transform((text) => text.length)],
    ["pipe", z.string().pipe(z.string())],
    ["preprocess", z.preprocess(String, z.string())],
    ["coerce", z.coerce.number()],
    ["coerce to boolean", z.coerce.boolean()],
    ["trim", z.string().trim()],
    ["toLowerCase", z.string().min(2).toLowerCase()],
    ["toUpperCase", z.string().toUpperCase()],
    ["unicode normalization", z.string().normalize()],
    ["overwrite", z.number().overwrite(Math.round)],
    ["catch", z.string().catch("x")],
    ["stringbool", z.stringbool()],
    ["codec", z.codec(z.string(), z.number(), { decode: Number, encode: String })],
    ["url that normalizes", z.url({ normalize: true })],
    ["promise", z.promise(z.string())],
    ["in an array", z.array(z.string().trim())],
    ["in a tuple's rest", z.tuple([z.string()], z.string().trim())],
    ["in a union", z.union([z.number(), z.object({ a: z.string().trim() })])],
    ["in an intersection", z.intersection(z.object({ a: z.string().trim() }), z.object({}))],
    ["in a record's value", z.record(z.string(), z.coerce.number())],
    ["in a record's key", z.record(z.string().toLowerCase(), z.number())],
    ["in a catchall", z.object({}).catchall(z.string().trim())],
    [
      "behind optional, nullable, default and readonly",
      z.string().trim().optional().nullable().default(null).readonly(),
    ],
    ["behind lazy", z.lazy(() => z.string().trim())],
    ["after a recursion", recursive()],
  ])("%s", (_, field) => {
    expect(() => withField(field)).toThrow(/changes values \(field/);
  });

  it("also of the output", () => {
    const output = z.object({ n: z.coerce.number() });
    const run = async () => ({ n: 1 });
    expect(() => defineTool({ ...minimal, path: "a.b", input: z.object({}), output, run })).toThrow(/output schema/);
  });
});

function recursive(): z.ZodType {
  const node: z.ZodType = z.object({
    get next() {
      return node.optional();
    },
    name: z.string().trim(),
  });
  return node;
}

describe("a schema that a person or a model cannot be shown is refused", () => {
  it.each([
    ["date", z.date()],
    ["bigint", z.bigint()],
    ["map", z.map(z.string(), z.string())],
    ["undefined", z.undefined()],
    ["custom", z.custom<string>()],
    ["instance", z.instanceof(Buffer)],
  ])("%s", (_, field) => {
    expect(() => withField(field)).toThrow(/JSON Schema/);
  });

  it("an input that is not an object", () => {
    expect(() => withInput(z.string() as unknown as z.ZodObject)).toThrow(/must be an object/);
    expect(() => withInput({ parse: () => 1 } as unknown as z.ZodObject)).toThrow(/zod 4/);
  });

  it("a default that differs each time, which would be another version on each worker", () => {
    expect(() => withField(z.string().default(() => String(Math.random())))).toThrow(/default/);
  });
});

describe("what checks and fills in is accepted", () => {
  it.each([
    ["defaults and optionals", z.string().default("x").optional()],
    ["prefault", z.string().prefault("x")],
    ["formats", z.union([z.email(), z.uuid(), z.url(), z.iso.datetime(), z.base64()])],
    [
      "refinements",
      z
        .string()
        .min(1)
        .refine((text) => text !== "no"),
    ],
    ["any JSON", z.json()],
    ["enums, literals, tuples", z.tuple([z.enum(["a"]), z.literal(1)]).rest(z.null())],
    ["template literals", z.templateLiteral(["v", z.number()])],
    ["discriminated unions", z.discriminatedUnion("k", [z.object({ k: z.literal("a") })])],
  ])("%s", (_, field) => {
    expect(isTool(withField(field))).toBe(true);
  });
});

describe("a tool", () => {
  it("has a version that changes with its schemas and with nothing else", () => {
    const version = (input: z.ZodObject, more = {}) => defineTool({ ...minimal, path: "a.b", input, ...more }).version;
    const one = version(z.object({ a: z.string(), b: z.number() }));
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    expect(version(z.object({ a: z.string(), b: z.number() }), { description: "Other.", idempotent: true })).toBe(one);
    expect(version(z.object({ a: z.string(), b: z.number().max(9) }))).not.toBe(one);
    expect(version(z.object({ a: z.string(), b: z.number() }), { output: z.unknown() })).not.toBe(one);
  });

  it("asks by its input where its policy is a function, and an answer that is none does not run", async () => {
    const tool = defineTool({
      ...minimal,
      path: "a.b",
      input: z.object({ amount: z.number() }),
      policy: ({ amount }) => (amount > 10 ? (amount > 99 ? "deny" : "required") : "auto"),
    });
    expect(tool.mode).toBe("BY_INPUT");
    expect([1, 50, 100].map((amount) => tool.modeOf({ amount }))).toEqual(["AUTO", "REQUIRED", "DENY"]);
    const confused = defineTool({ ...minimal, path: "a.b", input: z.object({}), policy: () => "toString" as "auto" });
    expect(() => confused.modeOf({})).toThrow(/policy of a\.b/);
  });

  it("fails when it answers something else than it promised", async () => {
    const output = z.object({ n: z.number() });
    const run = async () => ({ n: "one" }) as unknown as { n: number };
    const tool = defineTool({ ...minimal, path: "a.b", input: z.object({}), output, run });
    await expect(call(tool, {})).rejects.toMatchObject({ code: "TOOL_FAILED" });
  });

  it("that only parks is complete, and never runs by accident", async () => {
    const { run: _, ...rest } = minimal;
    const tool = defineTool({ ...rest, path: "a.b", input: z.object({}), parks: () => ({ kind: "question" }) });
    expect(tool.parks({})).toEqual({ kind: "question" });
    await expect(tool.run(toolContext(), {})).rejects.toMatchObject({ code: "TOOL_FAILED" });
    expect(() => defineTool({ ...rest, path: "a.b", input: z.object({}) })).toThrow(/no run/);
  });

  it("that writes in the journal's transaction may be run again: without its end it did not happen", () => {
    expect(defineTool({ ...minimal, path: "a.b", input: z.object({}), transactional: true }).idempotent).toBe(true);
    expect(defineTool({ ...minimal, path: "a.b", input: z.object({}) }).idempotent).toBe(false);
  });

  it.each([{ timeoutMs: 0 }, { timeoutMs: 2 ** 31 }, { approvalMs: -1 }, { approvalMs: Number.NaN }])(
    "has no impossible clock: %o",
    (clock) => {
      expect(() => defineTool({ ...minimal, path: "a.b", input: z.object({}), ...clock })).toThrow(/Ms/);
    },
  );

  it("publishes the schema of what a caller writes: a default makes a field optional", () => {
    const tool = withInput(z.object({ key: z.string(), by: z.number().default(1) }));
    expect(manifestOf(tool, "built-in")).toMatchObject({
      path: "a.b",
      mode: "AUTO",
      outputSchema: null,
      approvalMs: 24 * 3600_000,
      source: "built-in",
      inputSchema: { required: ["key"], properties: { by: { default: 1 } } },
    });
  });
});
