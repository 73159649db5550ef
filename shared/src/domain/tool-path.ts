/**
 * The path of a tool: names with dots between them; the guest calls `tools.<path>(input)`. What a guest may send is
 * wider, since a call to a path that no tool can have fails by itself (UNKNOWN_TOOL): there CALL_PATH_CHARS in
 * `workers/src/guests/javascript/call-limits.ts` bounds it, in a folder that the guest's host may read.
 */
const TOOL_PATH_CHARS = 128;

const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * No guest can call a tool there. The first four the language itself asks of a value, as in `await tools.a` or
 * `"" + tools.a`; the proxy in `workers/src/guests/javascript/tools.ts` answers them with undefined. In an object literal
 * `__proto__` is no property like others.
 */
const RESERVED_NAMES: ReadonlySet<string> = new Set(["then", "toString", "valueOf", "toJSON", "__proto__"]);

export function isToolName(segment: string): boolean {
  return TOOL_NAME.test(segment);
}

/** What is wrong with a path, as words that follow "its path" or "path:", or null. */
export function toolPathFault(path: string): string | null {
  if (path.length > TOOL_PATH_CHARS) return `has ${path.length} characters; at most ${TOOL_PATH_CHARS} are allowed`;
  for (const segment of path.split(".")) {
    if (!isToolName(segment)) return `has the segment ${JSON.stringify(segment)}, which is not a name`;
    if (RESERVED_NAMES.has(segment)) return `has the segment \`${segment}\`, which no guest can call`;
  }
  return null;
}

/** A pattern says no more than a path does, but with stars between; twice the room is enough for every use. */
export const POLICY_PATTERN_CHARS = 2 * TOOL_PATH_CHARS;
