import { isToolName, POLICY_PATTERN_CHARS } from "./tool-path.ts";

/**
 * Globs over the dot-separated paths of tools.
 *
 *   github.createIssue   that one tool
 *   github.*             every tool directly in `github`: `*` is one segment
 *   github.create*       within a segment `*` is any run of characters, also none
 *   github.**            `github` itself and everything below: `**`, always a whole segment, is any number of segments
 *   *                    alone: every tool, like `**`; whoever writes only a star means everything
 */
const GLOB = /^[A-Za-z0-9_*]+$/;

/** What is wrong with a pattern, in words for the person who wrote it, or null. */
export function patternFault(pattern: string): string | null {
  if (pattern === "") return "is empty; `**` stands for every tool";
  if (pattern.length > POLICY_PATTERN_CHARS) {
    return `has ${pattern.length} characters; at most ${POLICY_PATTERN_CHARS} are allowed`;
  }
  for (const segment of pattern.split(".")) {
    const fault = segmentFault(segment);
    if (fault !== null) return fault;
  }
  return null;
}

function segmentFault(segment: string): string | null {
  if (segment === "") return "has an empty segment; write names with single dots between them, like `github.*`";
  if (segment === "**" || isToolName(segment)) return null;
  const shown = JSON.stringify(segment);
  if (!GLOB.test(segment)) return `has the segment ${shown}; a segment is a name of letters, digits and _, or holds *`;
  if (!segment.includes("*")) return `has the segment ${shown}; a name does not begin with a digit`;
  if (segment.includes("**")) return `has the segment ${shown}; \`**\` must be a segment of its own`;
  return null;
}

export function isPolicyPattern(pattern: string): boolean {
  return patternFault(pattern) === null;
}

/** A pattern that is none matches nothing. */
export function matchesPattern(pattern: string, path: string): boolean {
  if (!isPolicyPattern(pattern)) return false;
  if (pattern === "*") return true;
  return fits(pattern.split("."), path.split("."), "**", segmentMatches);
}

function segmentMatches(glob: string, name: string): boolean {
  if (!glob.includes("*")) return glob === name;
  return fits(glob.split(""), name.split(""), "*", (a, b) => a === b);
}

/**
 * Wildcard matching without backtracking beyond the last wildcard: patterns come from users, and a regular expression
 * made of one with many stars takes exponential time.
 */
function fits(
  pattern: readonly string[],
  subject: readonly string[],
  any: string,
  same: (pattern: string, subject: string) => boolean,
): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let i = 0; i < subject.length;) {
    const wanted = pattern[at];
    if (wanted === any) {
      star = at++;
      resume = i;
    } else if (wanted !== undefined && same(wanted, subject[i] as string)) {
      at++;
      i++;
    } else if (star >= 0) {
      at = star + 1;
      i = ++resume;
    } else return false;
  }
  return pattern.slice(at).every((rest) => rest === any);
}

/** How closely a pattern names a path. Compared member by member, from the first: greater is more specific. */
export type Specificity = readonly [exact: number, literalSegments: number, literalCharacters: number];

export function specificityOf(pattern: string): Specificity {
  const segments = pattern.split(".");
  return [
    pattern.includes("*") ? 0 : 1,
    segments.filter((segment) => !segment.includes("*")).length,
    pattern.replaceAll(/[.*]/g, "").length,
  ];
}

export function compareSpecificity(a: Specificity, b: Specificity): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
