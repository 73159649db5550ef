export const FILE_PATH_LIMITS = { chars: 512, partBytes: 255, depth: 32 } as const;

// oxlint-disable-next-line no-control-regex -- these are what is refused
const CONTROL = /[\0-\x1f\x7f]/;

/**
 * What is wrong with the path of a file that goes into a sandbox, comes out of one, or names an artifact; or null.
 * Letters' case and form count, as they do on Linux.
 */
export function filePathFault(path: string): string | null {
  if (path === "") return "is empty";
  if (path.length > FILE_PATH_LIMITS.chars) return `has more than ${FILE_PATH_LIMITS.chars} characters`;
  if (!path.isWellFormed()) return "contains half of a surrogate pair";
  if (CONTROL.test(path)) return "contains a control character";
  if (path.includes("\\") || path.startsWith("/")) return "is not a relative path with / between its parts";
  const parts = path.split("/");
  if (parts.length > FILE_PATH_LIMITS.depth) return `has more than ${FILE_PATH_LIMITS.depth} parts`;
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    return "has an empty part, or one that is `.` or `..`";
  }
  if (parts.some((part) => Buffer.byteLength(part) > FILE_PATH_LIMITS.partBytes)) {
    return `has a part of more than ${FILE_PATH_LIMITS.partBytes} bytes`;
  }
  return null;
}
