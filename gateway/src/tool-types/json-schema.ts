/** The part of JSON Schema that says what a type is. Nothing is assumed of it: a manifest may come from any plugin. */
export interface SchemaObject {
  readonly [keyword: string]: unknown;
}

export type Schema = SchemaObject | boolean;

/** What is no schema says nothing: `true`. */
export function asSchema(value: unknown): Schema {
  if (typeof value === "boolean") return value;
  return isObject(value) ? value : true;
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The schema that a local `$ref` points to, or null: `#`, `#/$defs/x` and any other pointer into the same document. */
export function resolveRef(root: Schema, ref: string): Schema | null {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return null;
  let at: unknown = root;
  for (const part of ref.slice(2).split("/")) {
    const key = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return null;
    at = (at as Record<string, unknown>)[key];
  }
  return asSchema(at);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Whether what `ref` points to is nothing but itself again, through references and combinations alone. TypeScript takes
 * types that contain themselves, but not types that are themselves.
 */
export function isCircular(root: Schema, ref: string): boolean {
  const seen = new Set<string>();
  const open = [ref];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const target = resolveRef(root, next);
    for (const found of target === null ? [] : refsOf(target)) {
      if (found === ref) return true;
      if (!seen.has(found)) open.push(found);
      seen.add(found);
    }
  }
  return false;
}

function* refsOf(schema: Schema): Generator<string> {
  if (typeof schema === "boolean") return;
  if (typeof schema["$ref"] === "string") yield schema["$ref"];
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    for (const part of listOf(schema[keyword])) yield* refsOf(asSchema(part));
  }
}
