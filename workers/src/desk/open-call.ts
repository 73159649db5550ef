import type { JournalRow, Verdict } from "@airlock/shared/db";
import type { CallFacts } from "./entries.ts";

/** A call between the guest's `await` and its settlement. */
export interface OpenCall extends CallFacts {
  /** The guest's number for it. */
  guestId: number;
  /** The guest's clock when it made the call, in milliseconds since 1970; 0 where it was kept with it. */
  madeAt: number;
  journaled: boolean;
  /** The journal says already that it was started, and it was not. */
  startJournaled: boolean;
  input: string | null;
  inputHash: Buffer;
  version: string;
  /** Null: nothing was asked of a person. */
  verdict: Verdict | null;
  /** When a sleep ends, in milliseconds since 1970. */
  wakeAt: number | null;
}

export function openCallOf(
  row: JournalRow,
  made: { readonly id: number; readonly at: number },
  startJournaled = false,
): OpenCall {
  return {
    index: row.index,
    path: row.path,
    sent: row.sent,
    input: row.input,
    inputHash: Buffer.from(row.inputHash, "hex"),
    version: row.version,
    journaled: true,
    guestId: made.id,
    madeAt: made.at,
    startJournaled,
    verdict: row.verdict,
    wakeAt: row.wakeAt,
  };
}

/** What the guest can read about a call; the same in every run. */
export function metaOf(call: Pick<OpenCall, "index" | "verdict">): Record<string, unknown> {
  const { index, verdict } = call;
  if (verdict === null) return { index };
  const { id, kind, decidedBy, reason, editedInput } = verdict;
  const edited = editedInput === null ? {} : { editedInput: JSON.parse(editedInput) as unknown };
  return { index, approval: { id, kind, decidedBy, reason, ...edited } };
}
