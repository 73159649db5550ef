import type { ClaimedTask, JournalRow, Verdict } from "@airlock/shared/db";
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
  /** It has been started: perhaps by a segment that was lost. */
  begun: boolean;
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
    begun: false,
    verdict: row.verdict,
    wakeAt: row.wakeAt,
  };
}

/** Approved when its kept guest was claimed: the claim has journaled it as started. */
export function isMarked({ status, wakeAt, verdict }: JournalRow): boolean {
  return status === "WAITING" && wakeAt === null && verdict?.kind === "TOOL_CALL" && verdict.status === "APPROVED";
}

/** All that the claim has journaled as started. */
export function markedCalls({ kept, journal }: ClaimedTask): OpenCall[] {
  const guestIds = new Map(kept?.calls.map(([guestId, index]) => [index, guestId]));
  return journal.flatMap((row) => {
    const guestId = guestIds.get(row.index);
    return guestId !== undefined && isMarked(row) ? [openCallOf(row, { id: guestId, at: 0 }, true)] : [];
  });
}

/** What runs, or ran, as JSON text: as approved with an edit, else with defaults, else as the guest sent it. */
export function inputToRun({ verdict, version, input, sent }: OpenCall): string {
  // One that was approved for another version and then judged anew runs as it was asked.
  const isCurrent = verdict?.status === "APPROVED" && verdict.version === version;
  return (isCurrent ? verdict.editedInput : null) ?? input ?? sent;
}

/** What the guest can read about a call; the same in every run. */
export function metaOf(call: Pick<OpenCall, "index" | "verdict">): Record<string, unknown> {
  const { index, verdict } = call;
  if (verdict === null) return { index };
  const { id, kind, decidedBy, reason, editedInput } = verdict;
  const edited = editedInput === null ? {} : { editedInput: JSON.parse(editedInput) as unknown };
  return { index, approval: { id, kind, decidedBy, reason, ...edited } };
}
