import { createHash } from "node:crypto";
import { canonicalJson, DEFAULT_APPROVAL_MS, type PolicyMode, toolPathFault } from "@airlock/shared/domain";
import { z } from "zod";
import { jsonSchemaOf } from "./json-schema.ts";
import { isZodSchema } from "./plain-schema.ts";
import type { Parking, Tool, ToolContext } from "./tool.ts";
import { ToolError } from "./tool-error.ts";

const MODES = { auto: "AUTO", required: "REQUIRED", deny: "DENY" } as const satisfies Record<string, PolicyMode>;

export interface ToolDefinition<I extends z.ZodObject, O extends z.ZodType> {
  /** Names with dots between them: the guest calls `tools.<path>(input)`. */
  readonly path: string;
  readonly description: string;
  readonly input: I;
  /** Absent: any JSON. */
  readonly output?: O;
  /** Below all policies of the project. */
  readonly policy: "auto" | "required" | ((input: z.output<I>) => keyof typeof MODES);
  /** Running it twice with the same idempotency key is as good as once (false). */
  readonly idempotent?: boolean;
  /** 30,000. */
  readonly timeoutMs?: number;
  /** How long a person has to approve (24 h). */
  readonly approvalMs?: number;
  readonly answersWithArtifact?: boolean;
  /** Runs in the journal's own transaction and touches nothing but `context.db` (false). */
  readonly transactional?: boolean;
  /** Which inputs wait instead of running. */
  readonly parks?: (input: z.output<I>) => Parking | null;
  /** May be absent only where `parks` takes every input. */
  readonly run?: (context: ToolContext, input: z.output<I>) => Promise<z.input<O>>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** The longest that a Node timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The same in every copy of this module, since a plugin may bring its own. */
const DEFINED = Symbol.for("airlock.tool");

/** Checks a definition and completes it. A fault is an Error that names the tool. */
export function defineTool<I extends z.ZodObject, O extends z.ZodType = z.ZodUnknown>(
  definition: ToolDefinition<I, O>,
): Tool {
  const fault = pathFault(definition.path) ?? shapeFault(definition);
  if (fault !== null) throw refusal(definition.path, fault);
  const { inputSchema, outputSchema } = schemasOf(definition);
  const { policy, output } = definition;
  const tool: Tool = {
    path: definition.path,
    description: definition.description,
    input: definition.input,
    inputSchema,
    outputSchema,
    version: createHash("sha256").update(canonicalJson({ inputSchema, outputSchema })).digest("hex").slice(0, 16),
    mode: typeof policy === "function" ? "BY_INPUT" : MODES[policy],
    modeOf: (input) => modeOf(definition.path, typeof policy === "function" ? policy(input as z.output<I>) : policy),
    idempotent: definition.idempotent ?? definition.transactional ?? false,
    timeoutMs: definition.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    approvalMs: definition.approvalMs ?? DEFAULT_APPROVAL_MS,
    answersWithArtifact: definition.answersWithArtifact ?? false,
    transactional: definition.transactional ?? false,
    parks: (input) => definition.parks?.(input as z.output<I>) ?? null,
    async run(context, input) {
      if (definition.run === undefined) throw new ToolError(`${definition.path} waits; it does not run`);
      const answer = (await definition.run(context, input as z.output<I>)) as unknown;
      return output === undefined ? answer : checkAnswer(definition.path, output, answer);
    },
  };
  return Object.freeze(Object.defineProperty(tool, DEFINED, { value: true }));
}

export function isTool(value: unknown): value is Tool {
  return typeof value === "object" && value !== null && DEFINED in value;
}

function pathFault(path: unknown): string | null {
  if (typeof path !== "string") return "its path is not a string";
  const fault = toolPathFault(path);
  return fault === null ? null : `its path ${fault}`;
}

/** What types already rule out, except for a plugin written in JavaScript. */
function shapeFault(definition: ToolDefinition<z.ZodObject, z.ZodType>): string | null {
  const { description, input, output, policy, run, parks } = definition;
  if (typeof description !== "string" || description.trim() === "") return "it has no description";
  if (!isZodSchema(input)) return "its input is not a schema of zod 4";
  if (output !== undefined && !isZodSchema(output)) return "its output is not a schema of zod 4";
  const type: string = input._zod.def.type;
  if (type !== "object") return `its input must be an object, but is of type ${type}`;
  if (typeof policy !== "function" && policy !== "auto" && policy !== "required") {
    return 'its policy is neither "auto" nor "required" nor a function of the input';
  }
  if (typeof run !== "function" && typeof parks !== "function") return "it has no run";
  for (const name of ["timeoutMs", "approvalMs"] as const) {
    const ms = definition[name];
    if (ms === undefined) continue;
    if (!Number.isSafeInteger(ms) || ms <= 0) return `its ${name} is not a positive whole number`;
    if (name === "timeoutMs" && ms > MAX_TIMER_MS) return `its timeoutMs is beyond ${MAX_TIMER_MS}`;
  }
  return null;
}

function schemasOf({ path, input, output }: ToolDefinition<z.ZodObject, z.ZodType>) {
  try {
    const inputSchema = jsonSchemaOf(input, "input");
    return { inputSchema, outputSchema: output === undefined ? null : jsonSchemaOf(output, "output") };
  } catch (error) {
    throw refusal(path, error instanceof Error ? error.message : String(error));
  }
}

function refusal(path: unknown, fault: string): Error {
  return new Error(`tool ${JSON.stringify(path)}: ${fault}`);
}

function modeOf(path: string, asked: string): PolicyMode {
  if (Object.hasOwn(MODES, asked)) return MODES[asked as keyof typeof MODES];
  throw new ToolError(`the policy of ${path} answered ${JSON.stringify(asked)}, which is none`);
}

function checkAnswer(path: string, output: z.ZodType, answer: unknown): unknown {
  const result = output.safeParse(answer);
  if (result.success) return result.data;
  throw new ToolError(`${path} answered what its own schema refuses: ${z.prettifyError(result.error)}`);
}
