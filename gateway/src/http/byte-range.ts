import type { ByteRange } from "@airlock/shared/files";

const ONE_RANGE = /^bytes=(\d*)-(\d*)$/;

/**
 * The one range that a request asks for (RFC 9110). Null: all of it, as for several ranges and for anything that is not
 * understood; "unsatisfiable": it begins behind the end.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | "unsatisfiable" | null {
  const [, first = "", last = ""] = ONE_RANGE.exec(header ?? "") ?? [];
  if (first === "" && last === "") return null;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return null;
  return start >= size ? "unsatisfiable" : { start, end };
}
