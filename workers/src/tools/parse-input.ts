import { MAX_JSON_DEPTH } from "@airlock/shared/domain";
import { z } from "zod";
import type { Tool } from "./tool.ts";

export type ParsedInput =
  | { readonly ok: true; readonly value: Record<string, unknown> }
  /** BAD_TOOL_INPUT, in words for whoever wrote the call. */
  | { readonly ok: false; readonly message: string };

/** A message with an issue for each of a million items helps nobody. */
const MAX_MESSAGE_CHARS = 2_000;

/**
 * Checks what a guest sent (as `JSON.parse` gives it) and fills in defaults; changes nothing else. Never throws, and what
 * it lets through has a canonical JSON.
 */
export function parseInput(tool: Tool, given: unknown): ParsedInput {
  const fault = unhashable(given);
  if (fault !== null) return refuse(fault);
  try {
    const result = tool.input.safeParse(given);
    if (!result.success) return refuse(z.prettifyError(result.error));
    const where = changedAt(given, result.data, "input");
    if (where === null) return { ok: true, value: result.data };
    return refuse(`${where} is not written plainly: the tool would run with another value (remove surrounding spaces)`);
  } catch (error) {
    return refuse(`the tool's schema cannot judge it: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function refuse(message: string): ParsedInput {
  return {
    ok: false,
    message: message.length > MAX_MESSAGE_CHARS ? `${message.slice(0, MAX_MESSAGE_CHARS)}…` : message,
  };
}

/**
 * What keeps a value from being hashed, or null. Iterative: schemas recurse, and a value 100,000 levels deep would
 * overflow their stack. One level is left for the object that is hashed, which holds the input.
 */
function unhashable(value: unknown): string | null {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= MAX_JSON_DEPTH - 1) return `nested more than ${MAX_JSON_DEPTH} levels deep`;
    // JSON.parse makes Infinity of 1e999.
    if (level.some((one) => typeof one === "number" && !Number.isFinite(one))) return "a number is too large";
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? (Object.values(one) as unknown[]) : []));
  }
  return null;
}

/**
 * Where a given value came out of the schema as another one, or null. Schemas that transform are refused when a tool is
 * defined; this catches what cannot be seen there: z.url() trims, and a custom check may assign.
 */
function changedAt(given: unknown, parsed: unknown, where: string): string | null {
  if (Object.is(given, parsed) || given === undefined) return null;
  if (!isObject(given) || !isObject(parsed) || Array.isArray(given) !== Array.isArray(parsed)) return where;
  if (Array.isArray(given) && given.length !== (parsed as unknown as unknown[]).length) return where;
  for (const key of Object.keys(parsed)) {
    // Only here: a default. Only in `given`: a key that the schema does not know and that the tool does not get.
    if (!Object.hasOwn(given, key)) continue;
    const found = changedAt(given[key], parsed[key], `${where}.${key}`);
    if (found !== null) return found;
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
