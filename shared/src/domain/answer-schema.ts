import { z } from "zod";

/** What keeps a JSON Schema from being used to check the answer to a question, or null. */
export function answerSchemaFault(schema: unknown): string | null {
  const compiled = compile(schema);
  return compiled.ok ? null : compiled.fault;
}

/** Why an answer does not fit the JSON Schema that the question came with, or null. */
export function answerFault(schema: unknown, answer: unknown): string | null {
  const compiled = compile(schema);
  if (!compiled.ok) return compiled.fault;
  try {
    const result = compiled.check.safeParse(answer);
    return result.success ? null : z.prettifyError(result.error);
  } catch (error) {
    return `the question's schema cannot judge it: ${messageOf(error)}`;
  }
}

type Compiled = { readonly ok: true; readonly check: z.ZodType } | { readonly ok: false; readonly fault: string };

function compile(schema: unknown): Compiled {
  if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null || Array.isArray(schema))) {
    return { ok: false, fault: "a JSON Schema is an object or a boolean" };
  }
  try {
    // A registry of its own: the global one keeps every schema that has an `id`, for ever, and these come from guests.
    const check = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0], { registry: z.registry() });
    return { ok: true, check };
  } catch (error) {
    return { ok: false, fault: `not a JSON Schema that Airlock understands: ${messageOf(error)}` };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
