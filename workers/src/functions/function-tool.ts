import type { FunctionRow } from "@airlock/shared/db";
import { DEFAULT_APPROVAL_MS } from "@airlock/shared/domain";
import { z } from "zod";
import type { JsonSchema, Tool } from "../tools/tool.ts";
import { type FunctionRunner, runFunction } from "./run-function.ts";

/**
 * A stored function as the desk sees it. It has no way out of its sandbox, so that running it twice is as good as once,
 * and its version covers its code: what was approved is what runs.
 */
export function functionTool(runner: FunctionRunner, row: FunctionRow): Tool {
  const inputSchema = JSON.parse(row.input_schema) as JsonSchema;
  return {
    path: row.path,
    description: row.description,
    input: objectSchema(inputSchema),
    inputSchema,
    outputSchema: null,
    version: row.version,
    mode: row.mode,
    modeOf: () => row.mode,
    idempotent: true,
    timeoutMs: row.timeout_ms,
    approvalMs: DEFAULT_APPROVAL_MS,
    answersWithArtifact: true,
    transactional: false,
    parks: () => null,
    run: (context, input) => runFunction(runner, row, context, input),
  };
}

/** The gateway has stored only schemas of objects. */
function objectSchema(schema: JsonSchema): z.ZodObject {
  const registry = z.registry();
  return z.fromJSONSchema(schema, { registry }) as z.ZodObject;
}
