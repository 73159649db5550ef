import { isId } from "@airlock/shared/contracts";
import { ApiError } from "@airlock/shared/domain";

/** What a list holds. A cursor says it, so that one list's cursor is not taken for another's. */
export type Noun = "task" | "approval";

/** Opaque to callers. The id is time-ordered, so a page begins where the last one ended whatever was inserted since. */
export function toCursor(noun: Noun, id: string): string {
  return Buffer.from(`${noun}:${id}`).toString("base64url");
}

export function fromCursor(noun: Noun, cursor: string | null | undefined): string | null {
  if (cursor === null || cursor === undefined) return null;
  const id = Buffer.from(cursor, "base64url").toString("latin1").slice(`${noun}:`.length);
  if (isId(id) && toCursor(noun, id) === cursor) return id;
  throw new ApiError(
    "BAD_INPUT",
    "after: is not a cursor of this list; use an endCursor or cursor that it answered with",
  );
}

export interface PageBounds {
  readonly byDefault: number;
  readonly max: number;
  /** What a list without `first` is taken to hold when its cost is judged; `byDefault` where absent. */
  readonly usual?: number;
}

export const TASK_PAGE: PageBounds = { byDefault: 20, max: 100 };
export const APPROVAL_PAGE: PageBounds = { byDefault: 20, max: 100 };
export const LEASE_PAGE: PageBounds = { byDefault: 100, max: 1000, usual: 20 };
export const EVENT_PAGE: PageBounds = { byDefault: 100, max: 1000 };
export const FILE_PAGE: PageBounds = { byDefault: 100, max: 1000 };
/** Few tasks make more than a dozen calls; whoever asks for the calls of one wants all of them. */
export const CALL_PAGE: PageBounds = { byDefault: 1000, max: 1000, usual: 20 };

export function pageSize(first: number | null | undefined, bounds: PageBounds): number {
  const size = first ?? bounds.byDefault;
  if (size >= 0 && size <= bounds.max) return size;
  throw new ApiError("BAD_INPUT", `first: is ${size}; it must be between 0 and ${bounds.max}; page on with \`after\``);
}

/** What a list costs: its items, each with what is asked of it. Out-of-range sizes are refused by the resolver. */
export function listCost(bounds: PageBounds) {
  return ({ first }: { first?: number | null | undefined }): { field: number; multiplier: number } => ({
    field: 1,
    multiplier: Math.min(Math.max(first ?? bounds.usual ?? bounds.byDefault, 1), bounds.max),
  });
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Where the next page begins, if not behind the last item: this page may be short, or empty, and not be the last. */
  readonly lookedUpTo: string | null;
}

/** `rows` were asked for with one more than `size`, which tells whether there is a next page. */
export function toPage<T>(
  rows: readonly T[],
  size: number,
  after: string | null,
  lookedUpTo: string | null = null,
): Page<T> {
  const hasNextPage = rows.length > size || lookedUpTo !== null;
  return { items: rows.slice(0, size), hasNextPage, hasPreviousPage: after !== null, lookedUpTo };
}
