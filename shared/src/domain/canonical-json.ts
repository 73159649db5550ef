/** Deeper than any document; far above it recursion would run out of stack (about 10,000 levels). */
export const MAX_JSON_DEPTH = 1000;

/**
 * RFC 8785 (JCS): one text for one JSON value, whatever the order of its keys. Takes what `JSON.parse` gives; a member
 * that is `undefined` is left out, as `JSON.stringify` does. Anything else that JSON cannot say is a TypeError: a value
 * that is hashed must not lose a part in silence. The one deviation: half a surrogate pair, which the RFC refuses, is
 * escaped as `JSON.stringify` does, since guests can send it.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} is not a JSON value`);
      return JSON.stringify(value);
    case "object":
      return value === null ? "null" : writeObject(value, depth + 1);
    default:
      throw new TypeError(`a ${typeof value} is not a JSON value`);
  }
}

function writeObject(value: object, depth: number): string {
  if (depth > MAX_JSON_DEPTH) throw new TypeError(`nested more than ${MAX_JSON_DEPTH} levels deep`);
  if (Array.isArray(value)) return `[${Array.from(value, (item) => write(item, depth)).join(",")}]`;
  const kind = Object.prototype.toString.call(value);
  // A Date or a Map has no keys of its own and would pass as {}.
  if (kind !== "[object Object]") throw new TypeError(`${kind} is not a JSON value`);
  const members: string[] = [];
  // `sort` without a comparison is by UTF-16 code units, which is what the RFC asks for.
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${write(member, depth)}`);
  }
  return `{${members.join(",")}}`;
}
