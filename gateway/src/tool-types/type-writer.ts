import { docComment, inlineComment } from "./comments.ts";
import { asSchema, isCircular, isObject, listOf, resolveRef, type Schema, type SchemaObject } from "./json-schema.ts";
import { memberName } from "./names.ts";
import { intersectionOf, NEVER, simple, type TypeText, UNKNOWN, unionOf, wrapped } from "./type-text.ts";

export interface WrittenType {
  readonly text: string;
  /** Declarations that `text` refers to. */
  readonly aliases: readonly string[];
}

interface Writer {
  readonly root: Schema;
  /** A field with a default may be left out by a caller; in an answer it is always there. */
  readonly side: "input" | "output";
  /** The name of the type that a reference stands for. */
  readonly alias: (ref: string) => string;
}

/** A JSON Schema as a TypeScript type, as exact as types can be; what has no type is `unknown`. */
export function writeType(
  schema: unknown,
  side: "input" | "output",
  indent: string,
  nameOf: (def: string) => string,
): WrittenType {
  const root = asSchema(schema);
  const names = new Map<string, string>();
  const alias = (ref: string): string => {
    const name = names.get(ref) ?? nameOf(ref.split("/").slice(1).at(-1) ?? "");
    names.set(ref, name);
    return name;
  };
  const writer: Writer = { root, side, alias };
  const { text } = write(root, indent, writer);
  const aliases: string[] = [];
  // Grows while it is walked: an alias may need others. A recursive type has an end as a graph, not as text.
  for (const [ref, name] of names) {
    aliases.push(`type ${name} = ${write(resolveRef(root, ref) ?? true, "", writer).text};\n`);
  }
  return { text: names.get("#") ?? text, aliases };
}

function write(schema: Schema, indent: string, writer: Writer): TypeText {
  if (typeof schema === "boolean") return schema ? UNKNOWN : NEVER;
  const { not, anyOf, oneOf } = schema;
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) return NEVER;
  const each = (list: unknown): TypeText[] => listOf(list).map((part) => write(asSchema(part), indent, writer));
  const parts = [
    typeof schema["$ref"] === "string" ? writeRef(schema["$ref"], writer) : UNKNOWN,
    writeOwn(schema, indent, writer),
    Array.isArray(anyOf) ? unionOf(each(anyOf)) : UNKNOWN,
    Array.isArray(oneOf) ? unionOf(each(oneOf)) : UNKNOWN,
    ...each(schema["allOf"]),
  ];
  const type = intersectionOf(parts);
  return schema["nullable"] === true ? unionOf([type, simple("null")]) : type;
}

function writeRef(ref: string, { root, alias }: Writer): TypeText {
  return resolveRef(root, ref) === null || isCircular(root, ref) ? UNKNOWN : simple(alias(ref));
}

/** What the schema itself says, without its references and combinations. */
function writeOwn(schema: SchemaObject, indent: string, writer: Writer): TypeText {
  if ("const" in schema) return literal(schema["const"]);
  if (Array.isArray(schema["enum"])) return unionOf(schema["enum"].map(literal));
  const types = typeof schema["type"] === "string" ? [schema["type"]] : listOf(schema["type"]);
  if (types.length > 0) return unionOf(types.map((type) => writeNamed(type, schema, indent, writer)));
  if (isObject(schema["properties"])) return writeObject(schema, indent, writer);
  return "prefixItems" in schema || "items" in schema ? writeArray(schema, indent, writer) : UNKNOWN;
}

function writeNamed(type: unknown, schema: SchemaObject, indent: string, writer: Writer): TypeText {
  switch (type) {
    case "string":
      return simple(typeof schema["format"] === "string" ? `string ${inlineComment(schema["format"])}` : "string");
    case "number":
      return simple("number");
    case "integer":
      return simple("number /* integer */");
    case "boolean":
    case "null":
      return simple(type);
    case "array":
      return writeArray(schema, indent, writer);
    case "object":
      return writeObject(schema, indent, writer);
    default:
      return UNKNOWN;
  }
}

/** A value of JSON as a type; an object or a list as a constant is too rare to spell out. */
function literal(value: unknown): TypeText {
  return typeof value === "object" && value !== null ? UNKNOWN : simple(JSON.stringify(value));
}

function writeArray(schema: SchemaObject, indent: string, writer: Writer): TypeText {
  // Before 2020-12 a tuple was a list in `items`.
  const old = Array.isArray(schema["items"]);
  const first = listOf(old ? schema["items"] : schema["prefixItems"]);
  const rest = write(asSchema(schema[old ? "additionalItems" : "items"]), indent, writer);
  if (first.length === 0) return simple(rest === NEVER ? "[]" : `${wrapped(rest)}[]`);
  const required = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
  const items = first.map((item, i) => {
    const type = write(asSchema(item), indent, writer);
    return i < required ? type.text : `${wrapped(type)}?`;
  });
  if (rest !== NEVER) items.push(`...${wrapped(rest)}[]`);
  return simple(`[${items.join(", ")}]`);
}

function writeObject(schema: SchemaObject, indent: string, writer: Writer): TypeText {
  const properties = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const required = listOf(schema["required"]);
  const extra = asSchema(schema["additionalProperties"] ?? "patternProperties" in schema);
  const inner = `${indent}  `;
  if (properties.length === 0) return writeRecord(schema, extra, required, indent, writer);
  let body = "";
  for (const [name, property] of properties) {
    const field = asSchema(property);
    const filledIn = writer.side === "input" && typeof field === "object" && "default" in field;
    const mark = required.includes(name) && !filledIn ? "" : "?";
    body += docComment(notesOf(field), inner);
    body += `${inner}${memberName(name)}${mark}: ${write(field, inner, writer).text};\n`;
  }
  // Wider than the schema where it gives the rest a type: an index signature must also fit the named members.
  if (extra !== false) body += `${inner}[key: string]: unknown;\n`;
  return simple(`{\n${body}${indent}}`);
}

function writeRecord(
  schema: SchemaObject,
  extra: Schema,
  required: readonly unknown[],
  indent: string,
  writer: Writer,
): TypeText {
  const open = !("additionalProperties" in schema) && !("patternProperties" in schema);
  if (open) return simple("properties" in schema ? "{}" : "{ [key: string]: unknown }");
  if (extra === false) return simple("{ [key: string]: never }");
  const value = write(extra, indent, writer).text;
  const names = schema["propertyNames"];
  const keys = isObject(names) && ("enum" in names || "const" in names) ? writeOwn(names, indent, writer) : UNKNOWN;
  if (keys === UNKNOWN) return simple(`{ [key: string]: ${value} }`);
  return simple(`{ [key in ${keys.text}]${required.length > 0 ? "" : "?"}: ${value} }`);
}

const BOUNDS = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "minLength", "maxLength"];

/** What the type cannot say. The bounds of a safe integer are every integer's, and no news. */
function notesOf(schema: Schema): string[] {
  if (typeof schema === "boolean") return [];
  const notes = typeof schema["description"] === "string" ? [schema["description"]] : [];
  const bounds = BOUNDS.filter(
    (name) => typeof schema[name] === "number" && Math.abs(schema[name]) !== Number.MAX_SAFE_INTEGER,
  ).map((name) => `${name}: ${String(schema[name])}`);
  if (typeof schema["pattern"] === "string" && !("format" in schema)) bounds.push(`pattern: ${schema["pattern"]}`);
  if ("default" in schema) bounds.push(`default: ${JSON.stringify(schema["default"])}`);
  return bounds.length === 0 ? notes : [...notes, bounds.join(", ")];
}
