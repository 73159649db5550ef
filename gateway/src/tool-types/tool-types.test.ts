import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { renderToolTypes, type ToolSignature } from "./index.ts";

const TSC = path.resolve(import.meta.dirname, "../../../node_modules/.bin/tsc");

function tool(toolPath: string, input: unknown, output: unknown = null, description = "Does a thing."): ToolSignature {
  return { path: toolPath, description, inputSchema: input, outputSchema: output };
}

const zodTool = (toolPath: string, input: z.ZodType, output: z.ZodType = z.unknown()): ToolSignature =>
  tool(toolPath, z.toJSONSchema(input, { io: "input" }), z.toJSONSchema(output, { io: "output" }));

const Tree = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree).optional();
  },
});

/** Each is a file of its own; `use` is code that must compile beside it, wrong calls marked with @ts-expect-error. */
const CASES: Record<string, { tools: ToolSignature[]; use?: string }> = {
  "no tools": { tools: [] },
  "every kind that zod can say": {
    tools: [
      zodTool(
        "all.kinds",
        z.object({
          text: z.string().min(2).max(9).regex(/a*/),
          id: z.uuid(),
          many: z.array(z.union([z.email(), z.number()])),
          when: z.iso.datetime().nullable(),
          size: z.enum(["S", "M"]),
          one: z.literal([1, -1, true, null]),
          pair: z.tuple([z.string(), z.number().optional()]),
          rest: z.tuple([z.string()], z.union([z.number(), z.null()])),
          map: z.record(z.string(), z.array(z.int())),
          full: z.record(z.enum(["a", "b"]), z.number()),
          some: z.partialRecord(z.enum(["a", "b"]), z.number()),
          both: z.intersection(z.object({ x: z.number() }), z.object({ y: z.number() })),
          kind: z.discriminatedUnion("k", [
            z.object({ k: z.literal("a"), n: z.number() }),
            z.object({ k: z.literal("b"), s: z.string() }),
          ]),
          loose: z.looseObject({ known: z.number() }),
          typed: z.object({ known: z.string() }).catchall(z.number()),
          none: z.object({}),
          json: z.json(),
          nothing: z.never().optional(),
          by: z.number().default(1),
          either: z.xor([z.string(), z.number()]).optional(),
          tag: z.templateLiteral(["v", z.number()]).optional(),
          loosely: z.looseRecord(z.string().regex(/^x-/), z.string()).optional(),
          any: z.any(),
        }),
        z.object({ by: z.number().default(1), maybe: z.string().optional() }),
      ),
    ],
    use: `
      const given = {
        text: "abc", id: "x", many: ["a", 1], when: null, size: "S" as const, one: -1 as const, pair: ["a"] as [string],
        rest: ["a", 1, null] as [string, number, null], map: { a: [1] }, full: { a: 1, b: 2 }, some: { a: 1 },
        both: { x: 1, y: 2 }, kind: { k: "a" as const, n: 1 }, loose: { known: 1, more: "x" }, typed: { known: "x", n: 1 },
        none: {}, json: [{ a: [null, "x"] }], any: 1,
      };
      const answer = await tools.all.kinds(given);
      const by: number = answer.by;
      const maybe: string | undefined = answer.maybe;
      // @ts-expect-error a size that there is not
      await tools.all.kinds({ ...given, size: "L" });
      // @ts-expect-error a missing field
      await tools.all.kinds({ ...given, text: undefined });
      // @ts-expect-error a record without one of its keys
      await tools.all.kinds({ ...given, full: { a: 1 } });
      // @ts-expect-error not of either kind
      await tools.all.kinds({ ...given, kind: { k: "a", s: "x" } });
      // @ts-expect-error never
      await tools.all.kinds({ ...given, nothing: 1 });
      input.anything.at.all;
      void [by, maybe];`,
  },
  "schemas that contain themselves": {
    tools: [
      zodTool("tree.root", Tree, z.object({ tree: Tree })),
      zodTool("tree.named", z.object({ a: z.string().meta({ id: "Weird/Name ~1" }), b: z.json() })),
      zodTool("tree_root", Tree),
    ],
    use: `
      const { tree } = await tools.tree.root({ name: "a", children: [{ name: "b", children: [] }] });
      const name: string | undefined = tree.children?.[0]?.children?.[0]?.name;
      // @ts-expect-error deep inside
      await tools.tree.root({ name: "a", children: [{ name: "b", children: [{ name: 1 }] }] });
      void name;`,
  },
  "references that lead nowhere or in a circle": {
    tools: [
      tool("bad.self", { $ref: "#" }, { $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }),
      tool("bad.ring", {
        $ref: "#/$defs/a",
        $defs: {
          a: { anyOf: [{ $ref: "#/$defs/b" }, { type: "string" }] },
          b: { allOf: [{ oneOf: [{ $ref: "#/$defs/a" }] }] },
        },
      }),
      tool("bad.lost", { properties: { x: { $ref: "#/$defs/none" }, y: { $ref: "https://example.com/s.json" } } }),
      tool("bad.pointer", {
        properties: { a: { $ref: "#/properties/b%20c" }, "b c": { type: "array", items: { $ref: "#/properties/a" } } },
      }),
      tool("bad.arrays", { $ref: "#/$defs/a", $defs: { a: { items: { $ref: "#/$defs/a" } } } }),
      tool("bad.tuple", { $defs: { a: { prefixItems: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" }),
      tool("bad.record", {
        $ref: "#/$defs/a",
        $defs: { a: { type: "object", additionalProperties: { $ref: "#/$defs/a" } } },
      }),
    ],
  },
  "text that tries to leave its comment": {
    tools: [
      tool(
        "evil.words",
        {
          type: "object",
          properties: {
            "*/ x: 1; /*": { type: "string", description: "*/ }; declare const pwned: 1; /*", format: "*/ evil /*" },
            'quo"te\n': { enum: ['"; //', "*/", "\u2028", "`${x}`"] },
            "a-b": { pattern: "*/", default: "*/" },
            __proto__: { type: "string" },
            new: { type: "string" },
            "": { const: "\\" },
          },
          required: ["new"],
        },
        null,
        "First line\r\n\n*/ declare const pwned: 2; /**\n * @param x {*}\n",
      ),
    ],
    use: `
      // @ts-expect-error nothing escaped
      pwned;
      await tools.evil.words({ new: "x", "a-b": 1 });`,
  },
  "paths that are words of the language, and tools that hold tools": {
    tools: ["new", "get", "set", "constructor", "readonly", "class.static", "a.b", "a.b.c", "a.b.c.d", "a.b.new"].map(
      (name) => tool(name, { type: "object", properties: { n: { type: "number" } }, required: ["n"] }),
    ),
    use: `
      await Promise.all([tools.new, tools.get, tools.a.b, tools.a.b.c, tools.a.b.c.d, tools.a.b.new].map((t) => t({ n: 1 })));
      await tools.class.static({ n: 1 });
      // @ts-expect-error a call of what is no tool
      await tools.a({ n: 1 });
      // @ts-expect-error a wrong input below a tool
      await tools.a.b.c({ n: "1" });`,
  },
  "schemas that are none": {
    tools: [true, false, null, "x", [], { type: "what" }, { type: ["string", "null"] }, { enum: [] }, { items: false }]
      .map((schema, i) => tool(`odd.s${i}`, schema, schema))
      .concat([
        tool("odd.old", { items: [{ type: "string" }], additionalItems: false }),
        tool("odd.shut", { type: "object", additionalProperties: false }),
        tool("odd.open", { type: "object" }),
        tool("odd.mixed", { type: "object", properties: { a: {} }, anyOf: [{ required: ["a"] }, false] }),
        tool("odd.null", { type: "string", nullable: true }),
        tool("odd.constants", { properties: { a: { const: { deep: 1 } }, b: { enum: [[1], null] } } }),
      ]),
    use: `await tools.odd.old(["x"]); await tools.odd.open({ any: 1 }); await tools.odd.null(null);`,
  },
};

describe("tool types", () => {
  let home: string;
  let complaints: string;
  const fileOf = (name: string): string => `${name.replaceAll(/\W+/g, "-")}.ts`;

  beforeAll(async () => {
    home = await mkdtemp(path.join(tmpdir(), "airlock-types-"));
    for (const [name, { tools, use }] of Object.entries(CASES)) {
      await writeFile(path.join(home, fileOf(name)), `${renderToolTypes(tools)}${use ?? ""}\nexport {};\n`);
    }
    await writeFile(path.join(home, "tsconfig.json"), JSON.stringify(CONFIG));
    complaints = await compile(home);
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  const CONFIG = {
    compilerOptions: { strict: true, noEmit: true, target: "es2024", module: "esnext", lib: ["es2024"], types: [] },
  };

  it.each(Object.keys(CASES))("tsc accepts: %s", (name) => {
    expect(complaints.split("\n").filter((line) => line.startsWith(fileOf(name)))).toEqual([]);
  });

  it("tsc has looked, and has nothing else to say", () => {
    expect(complaints).toBe("");
  });

  it("are the same whatever the order of the tools, so that a prompt can be cached", () => {
    const tools = CASES["every kind that zod can say"]?.tools ?? [];
    const more = [...tools, tool("b.a", true), tool("a.z", true)];
    expect(renderToolTypes(more)).toBe(renderToolTypes(more.toReversed()));
  });

  it("tell a model what the types cannot", () => {
    const schema = z.object({ by: z.int().min(0).default(1).describe("How much."), at: z.iso.datetime() });
    expect(renderToolTypes([zodTool("kv.add", schema, z.number())])).toBe(
      `/** What the task was submitted with. */
declare const input: any;

declare const tools: {
  kv: {
    /** Does a thing. */
    add(input: {
      /**
       * How much.
       * minimum: 0, default: 1
       */
      by?: number /* integer */;
      at: string /* date-time */;
    }): Promise<number>;
  };
};
`,
    );
  });
});

/** What tsc prints; nothing is approval. A tsc that cannot start fails the test. */
function compile(home: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(TSC, ["-p", home, "--pretty", "false"], { cwd: home, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve(code === 0 ? output : output || `tsc ended with ${code}`));
  });
}
