import type { Language } from "./language.ts";

/** npm package name → version, range or tag. */
export type Dependencies = Readonly<Record<string, string>>;

export const DEPENDENCY_LIMITS = { count: 100, nameChars: 214, rangeChars: 256 } as const;

/** Whose programs can import npm packages. */
export const NPM_LANGUAGES: readonly Language[] = ["JAVASCRIPT", "TYPESCRIPT", "BUN"];

/** npm's own rule, with the capital letters that old packages have. */
const NAME = /^(?:@[a-zA-Z0-9~-][a-zA-Z0-9._~-]*\/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*$/;
const NEVER_NAMES = new Set(["node_modules", "favicon.ico"]);
/** Without `:` and `/` there is no way to write a URL, a git repository, a folder or another package's name. */
const RANGE = /^[0-9A-Za-z^~<>=|*+_ -][0-9A-Za-z^~<>=|*+_. -]*$/;
const FILE = /\.(?:tgz|tar|tar\.gz)$/i;

/** What is wrong with one dependency, or null. */
export function dependencyFault(name: string, range: unknown): string | null {
  const { nameChars, rangeChars } = DEPENDENCY_LIMITS;
  const shown = JSON.stringify(name.slice(0, 80));
  if (name.length > nameChars || !NAME.test(name) || NEVER_NAMES.has(name.toLowerCase())) {
    return `${shown} is no name of an npm package; give one like "left-pad" or "@scope/name"`;
  }
  if (typeof range !== "string") return `${shown} needs a version range as text, like "^1.2.0"`;
  if (range.length > rangeChars || !RANGE.test(range) || FILE.test(range)) {
    return `${shown} needs a version, a range or a tag of the registry, like "^1.2.0"; URLs, git repositories, files and aliases are not installed`;
  }
  return null;
}

/** What is wrong with a map of dependencies, or null. */
export function dependenciesFault(given: unknown): string | null {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return "must be an object of npm package names and version ranges";
  }
  const entries = Object.entries(given);
  if (entries.length > DEPENDENCY_LIMITS.count) {
    return `has ${entries.length} packages; at most ${DEPENDENCY_LIMITS.count} are allowed`;
  }
  for (const [name, range] of entries) {
    const fault = dependencyFault(name, range);
    if (fault !== null) return fault;
  }
  return null;
}

/** JSON text with sorted names; null where there are none. The same packages make the same text. */
export function canonicalDependencies(dependencies: Dependencies): string | null {
  const entries = Object.entries(dependencies).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries));
}
