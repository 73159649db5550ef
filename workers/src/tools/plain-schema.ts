import type { z } from "zod";

/** The parts of a zod definition that hold other schemas or change values. Zod 4, whichever copy of it made them. */
interface Definition {
  readonly type: string;
  readonly coerce?: boolean;
  readonly check?: string;
  readonly normalize?: boolean;
  readonly checks?: readonly { readonly _zod: { readonly def: Definition } }[];
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly catchall?: Schema;
  readonly element?: Schema;
  readonly items?: readonly Schema[];
  readonly rest?: Schema | null;
  readonly keyType?: Schema;
  readonly valueType?: Schema;
  readonly options?: readonly Schema[];
  readonly left?: Schema;
  readonly right?: Schema;
  readonly innerType?: Schema;
  readonly getter?: () => Schema;
}

interface Schema {
  readonly _zod: { readonly def: Definition };
}

/** Kinds whose output is not the value that was given. `preprocess`, `stringbool` and codecs are pipes. */
const CHANGING: Readonly<Record<string, string>> = {
  transform: "transforms",
  pipe: "pipes into another schema",
  catch: "replaces what does not fit (catch)",
  success: "answers whether it fits (success)",
  promise: "waits for a promise",
  function: "wraps a function",
};

export function isZodSchema(value: unknown): value is z.ZodType {
  return typeof value === "object" && value !== null && "_zod" in value;
}

/**
 * Where and how a schema would change a value, or null. What a person is shown must be what runs, so a tool's schema
 * may check values and fill in defaults, nothing else.
 */
export function changeIn(schema: z.ZodType): string | null {
  return look(schema as unknown as Schema, "", new Set());
}

function look(schema: Schema, where: string, seen: Set<Schema>): string | null {
  if (seen.has(schema)) return null;
  seen.add(schema);
  const change = changeOf(schema._zod.def);
  if (change !== null) return `${where === "" ? "it" : where.slice(1)} ${change}`;
  for (const [name, inner] of partsOf(schema._zod.def)) {
    const found = look(inner, `${where}${name}`, seen);
    if (found !== null) return found;
  }
  return null;
}

function changeOf(definition: Definition): string | null {
  if (Object.hasOwn(CHANGING, definition.type)) return CHANGING[definition.type] as string;
  if (definition.coerce === true) return "coerces";
  // A format such as z.url() is a schema and its own check.
  for (const check of [definition, ...(definition.checks ?? []).map((one) => one._zod.def)]) {
    if (check.check === "overwrite") return "overwrites (trim, toLowerCase and the like)";
    if (check.normalize === true) return "normalizes";
  }
  return null;
}

function* partsOf(definition: Definition): Generator<[string, Schema]> {
  for (const [key, inner] of Object.entries(definition.shape ?? {})) yield [`.${key}`, inner];
  for (const [i, inner] of (definition.items ?? []).entries()) yield [`.${i}`, inner];
  for (const inner of definition.options ?? []) yield ["", inner];
  const { catchall, element, rest, keyType, valueType, left, right, innerType } = definition;
  for (const inner of [catchall, element, rest, valueType]) if (inner) yield [".*", inner];
  if (keyType) yield [".(key)", keyType];
  for (const inner of [left, right, innerType]) if (inner) yield ["", inner];
  if (definition.type === "lazy" && definition.getter) yield ["", definition.getter()];
}
