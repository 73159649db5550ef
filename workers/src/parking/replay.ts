import type { JournalRow } from "@airlock/shared/db";
import type { CallResult, GuestCall } from "../sandboxes/port.ts";

/**
 * What the journal holds that the guest has not been given: a guest that was restored, or runs again from its start,
 * makes the same calls and gets the same outcomes in the same order.
 */
export class Replay {
  /** Rows that no call of the guest has claimed, by index. */
  readonly #unclaimed: JournalRow[];
  /** Rows with an outcome, by its order; the next one to give comes first. */
  readonly #recorded: JournalRow[];
  readonly #guestIds = new Map<number, number>();

  constructor(journal: readonly JournalRow[], kept: readonly (readonly [guestId: number, index: number])[]) {
    const held = new Map(kept.map(([guestId, index]) => [index, guestId]));
    this.#unclaimed = journal.filter((row) => !held.has(row.index));
    this.#recorded = journal
      .filter((row) => row.completion !== null)
      .toSorted((a, b) => (a.completion as number) - (b.completion as number));
    for (const [index, guestId] of held) this.#guestIds.set(index, guestId);
  }

  /** Every recorded call was made again. */
  get allClaimed(): boolean {
    return this.#unclaimed.length === 0;
  }

  get allGiven(): boolean {
    return this.#recorded.length === 0;
  }

  /** The first unclaimed row with the same path and the same input as sent. */
  claim(call: GuestCall): JournalRow | null {
    const at = this.#unclaimed.findIndex((row) => row.path === call.path && row.sent === call.input);
    const [row] = at < 0 ? [] : this.#unclaimed.splice(at, 1);
    if (row === undefined) return null;
    this.#guestIds.set(row.index, call.id);
    return row;
  }

  /** The next recorded outcome, for a guest that has drained; null where its call was not made again. */
  next(): { row: JournalRow; guestId: number } | null {
    const [row] = this.#recorded;
    const guestId = row && this.#guestIds.get(row.index);
    if (row === undefined || guestId === undefined) return null;
    this.#recorded.shift();
    return { row, guestId };
  }

  /** When the next recorded outcome came, in milliseconds since 1970. */
  get nextAt(): number {
    return this.#recorded[0]?.finishedAt ?? Number.NEGATIVE_INFINITY;
  }

  /** Both sides, for the person who has to find out why. */
  explain(unmatched: readonly GuestCall[]): string {
    const [recorded] = this.#unclaimed;
    const wanted = recorded
      ? `call ${recorded.index} to ${recorded.path} with ${cut(recorded.sent)}`
      : "no further call";
    const [made] = unmatched;
    const got = made ? `called ${made.path} with ${cut(made.input)}` : "made no further call";
    return `the first run made ${wanted}; this run ${got}. A program that is run again must take the same way`;
  }
}

export function resultOfRow(row: JournalRow): CallResult {
  if (row.status === "SUCCEEDED") return { ok: true, value: row.output };
  return { ok: false, code: row.errorCode ?? "TOOL_FAILED", message: row.errorMessage ?? "" };
}

function cut(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}
