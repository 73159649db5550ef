import { newEvent } from "@airlock/shared/contracts";
import type { CallUpdate, ClaimedTask, NewCall, SegmentWrite } from "@airlock/shared/db";
import type { OutputStream } from "../sandboxes/port.ts";
import type { JournalEntry } from "./recorder.ts";

/** What one stream printed in one go. */
export interface OutputRun {
  readonly stream: OutputStream;
  text: string;
}

/** What a segment has done since its last write, in order. */
export function toWrite(
  task: ClaimedTask,
  items: readonly (OutputRun | { readonly entry: JournalEntry })[],
): SegmentWrite {
  const entries = items.flatMap((item) => ("entry" in item ? item.entry : []));
  const rows = foldRows(entries);
  // Outcomes keep the order in which they were recorded, whether they come with a new row or with a change.
  const ended = rows.filter(({ row }) => row.completion !== null);
  const places = new Map(ended.map(({ row }, place) => [row, place + 1]));
  const numbered = <T extends NewCall | CallUpdate>(row: T): T => ({ ...row, completion: places.get(row) ?? null });
  const printed = { stdout: 0, stderr: 0 };
  for (const item of items) if ("text" in item) printed[item.stream] += item.text.length;
  return {
    taskId: task.id,
    fence: task.segments,
    events: items.flatMap((item) =>
      "entry" in item ? item.entry.events : [newEvent("task.output", { stream: item.stream, text: item.text })],
    ),
    outputChars: printed.stdout + printed.stderr,
    stderrChars: printed.stderr,
    calls: rows.flatMap((one) => (one.kind === "new" ? numbered(one.row) : [])),
    updates: rows.flatMap((one) => (one.kind === "changed" ? numbered(one.row) : [])),
    approvals: entries.flatMap(({ approval }) => approval ?? []),
    activeMs: 0,
    end: null,
    parking: null,
  };
}

type Row = { readonly kind: "new"; readonly row: NewCall } | { readonly kind: "changed"; readonly row: CallUpdate };

/**
 * One a call, in the order in which the calls came to be what they are: a statement that inserts a row does not change
 * it, and of two changes to a row it makes one.
 */
function foldRows(entries: readonly JournalEntry[]): Row[] {
  const rows = new Map<number, Row>();
  for (const { call, update } of entries) {
    const one: Row | null = call ? { kind: "new", row: call } : update ? { kind: "changed", row: update } : null;
    if (one === null) continue;
    const { index } = one.row;
    const before = rows.get(index);
    rows.delete(index);
    rows.set(index, before === undefined ? one : ({ ...before, row: changed(before.row, one.row) } as Row));
  }
  return [...rows.values()];
}

/** As the statement changes the row in the journal: what is null here stays, but for state and outcome. */
function changed(before: NewCall | CallUpdate, row: NewCall | CallUpdate): NewCall | CallUpdate {
  return {
    ...before,
    ...row,
    approvalId: row.approvalId ?? before.approvalId,
    input: row.input ?? before.input,
    inputHash: row.inputHash ?? before.inputHash,
    version: row.version ?? before.version,
    wakeAt: row.wakeAt ?? before.wakeAt,
    startedAt: row.startedAt ?? before.startedAt,
  };
}
