import { canonicalJson } from "@airlock/shared/domain";
import { z } from "zod";
import { changeIn } from "./plain-schema.ts";
import type { JsonSchema } from "./tool.ts";

/** A schema as JSON Schema, for one of the two sides of a tool. What cannot be a tool's schema is an Error that says why. */
export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const change = changeIn(schema);
  if (change !== null) throw new Error(`its ${io} schema changes values (${change}); shown must equal run`);
  const printed = print(schema, io);
  // A default that is computed would give each worker another version of the same tool.
  if (canonicalJson(printed) !== canonicalJson(print(schema, io))) {
    throw new Error(`its ${io} schema has a default that is not the same each time`);
  }
  return printed;
}

/** Through JSON, which drops what zod hangs on the object for its own use. */
function print(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  try {
    return JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io }))) as JsonSchema;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`its ${io} schema has no JSON Schema form: ${reason}`, { cause: error });
  }
}
