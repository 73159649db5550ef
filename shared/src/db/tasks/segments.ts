import { sql } from "kysely";
import type { NewEvent } from "../../contracts/index.ts";
import type { EndedStatus, TaskFailure } from "../../domain/index.ts";
import { type Database, PREPARED } from "../database.ts";
import { type CallUpdate, type NewApproval, type NewCall, journalWrites } from "./journal-writes.ts";
import { type Column, rowsOf } from "../rows.ts";
import { storable } from "./storable.ts";

/** How a segment ended its task. */
export interface TaskEnd {
  readonly status: EndedStatus;
  /** JSON text. */
  readonly output: string | null;
  readonly exitCode: number | null;
  readonly failure: TaskFailure | null;
  /** The task may have pending approvals or a kept guest, which end with it. */
  readonly leavesTraces: boolean;
}

/** How a segment ends by waiting. */
export interface Parking {
  /** The outcomes that the segment has seen: where there are more, the task is queued at once instead. */
  readonly wakes: number;
  /** When the clock wakes it, whatever else does. */
  readonly wakeAt: Date | null;
  readonly waitingFor: string;
  /** Null: the next segment replays the program. */
  readonly kept: { readonly image: Buffer; readonly state: Buffer; readonly calls: string } | null;
}

/** One fenced write of a running segment: events, journal rows, and the end or the parking where it has come. */
export interface SegmentWrite {
  readonly taskId: string;
  readonly fence: number;
  readonly events: readonly NewEvent[];
  /** Characters of output among the events. */
  readonly outputChars: number;
  /** Those of them that are stderr's; absent: none. */
  readonly stderrChars?: number;
  /** Bytes that were dropped, of which one of the events tells; absent: none. */
  readonly droppedBytes?: number;
  readonly calls: readonly NewCall[];
  readonly updates: readonly CallUpdate[];
  readonly approvals: readonly NewApproval[];
  /** Active time of the segment; given with an end or a parking. */
  readonly activeMs: number;
  readonly end: TaskEnd | null;
  readonly parking: Parking | null;
}

export interface SegmentWritten {
  readonly seq: number;
  /** The segment was to park, but there were outcomes that it had not seen: the task waits for a worker again. */
  readonly requeued: boolean;
}

/**
 * Writes many segments' events, journal rows and ends in one statement. The answer is null where the fence did not
 * hold: nothing was written, and that segment must stop. Parking is refused the same way where the task is to be
 * cancelled. A task may appear once.
 *
 * The status is compared as an expression: a plain comparison would let the planner walk the index of all running tasks.
 */
export async function writeSegments(db: Database, writes: readonly SegmentWrite[]): Promise<(SegmentWritten | null)[]> {
  const events = writes.flatMap((write, index) => write.events.map((event, i) => ({ index, i, ...event })));
  // Most writes end nothing: what only an end or a parking changes is then neither sent nor looked at.
  const last = writes.some((write) => write.end !== null || write.parking !== null);
  const { rows } = await sql<SegmentWritten & { index: number }>`
    ${PREPARED} with asked as (
      select * from ${rowsOf([
        ["integer", writes.map((_, index) => index)],
        ["uuid", writes.map((write) => write.taskId)],
        ["integer", writes.map((write) => write.fence)],
        ["integer", writes.map((write) => write.events.length)],
        ["integer", writes.map((write) => write.outputChars)],
        ["integer", writes.map((write) => write.stderrChars ?? 0)],
        ["integer", writes.map((write) => write.droppedBytes ?? 0)],
        ["integer", writes.map(({ calls }) => Math.max(0, ...calls.map(({ index }) => index + 1)))],
        ["integer", writes.map(countCompletions)],
        ...(last ? lastColumns(writes) : []),
      ])} as a (
        index, id, fence, events, chars, stderr_chars, dropped, calls, completions
        ${last ? LAST_NAMES : sql``}
      )
    ), written as (
      update tasks t set
        event_seq = t.event_seq + a.events,
        recorded_output = t.recorded_output + a.chars,
        recorded_stderr = t.recorded_stderr + a.stderr_chars,
        dropped_output = t.dropped_output + a.dropped,
        calls = greatest(t.calls, a.calls),
        completions = t.completions + a.completions,
        losses = case when a.calls + a.completions > 0 then 0 else t.losses end
        ${last ? LAST_CHANGES : sql``}
      from asked a
      where t.id = a.id and t.segments = a.fence and t.status || '' = 'RUNNING'
        ${last ? sql`and (a.wakes is null or t.cancel_requested_at is null)` : sql``}
      returning a.index, t.id, t.project_id, t.provider, t.job, t.priority, t.event_seq as seq,
        t.event_seq - a.events as base, t.completions - a.completions as completed,
        t.completions as settled, t.recorded_output as printed,
        t.recorded_stderr as printed_stderr, t.status = 'QUEUED' as requeued
    ), logged as (
      insert into events (task_id, seq, type, data)
      select w.id, w.base + e.i + 1, e.type, e.data
      from unnest(
        ${events.map((event) => event.index)}::integer[], ${events.map((event) => event.i)}::integer[],
        ${events.map((event) => event.type)}::text[], ${events.map((event) => event.data)}::text[]
      ) as e (index, i, type, data)
      join written w on w.index = e.index
    )
    ${sql.join(journalWrites(writes), sql``)}
    select index, seq, requeued from written
  `.execute(db);
  const byIndex = new Map(rows.map(({ index, seq, requeued }) => [index, { seq, requeued }]));
  return writes.map((_, index) => byIndex.get(index) ?? null);
}

/** What an end or a parking brings, for writes of which at least one is such. */
function lastColumns(writes: readonly SegmentWrite[]): Column[] {
  const ends = writes.map((write) => write.end);
  const parkings = writes.map((write) => write.parking);
  return [
    ["integer", writes.map((write) => write.activeMs)],
    ["text", ends.map((end) => end?.status ?? null)],
    ["text", ends.map((end) => end?.output ?? null)],
    ["integer", ends.map((end) => end?.exitCode ?? null)],
    ["text", ends.map((end) => end?.failure?.code ?? null)],
    ["text", ends.map((end) => storable(end?.failure?.message))],
    ["text", ends.map((end) => storable(end?.failure?.stack))],
    ["integer", parkings.map((parking) => parking?.wakes ?? null)],
    ["timestamptz", parkings.map((parking) => parking?.wakeAt ?? null)],
    ["text", parkings.map((parking) => parking?.waitingFor ?? null)],
  ];
}

const LAST_NAMES = sql`, active_ms, status, output, exit_code, error_code, error_message, error_stack, wakes, wake_at, waiting_for`;

const LAST_CHANGES = sql`,
  active_ms = t.active_ms + a.active_ms,
  status = case when a.wakes is null then coalesce(a.status, t.status)
    when a.wakes = t.wakes then 'PARKED' else 'QUEUED' end,
  job = t.job + case when a.wakes <> t.wakes then 1 else 0 end,
  finished_at = case when a.status is not null then clock_timestamp() end,
  worker_id = case when a.status is null and a.wakes is null then t.worker_id end,
  wake_at = a.wake_at, waiting_for = a.waiting_for,
  output = a.output, exit_code = a.exit_code,
  error_code = a.error_code, error_message = a.error_message, error_stack = a.error_stack`;

function countCompletions(write: SegmentWrite): number {
  return (
    write.calls.filter(({ completion }) => completion !== null).length +
    write.updates.filter(({ completion }) => completion !== null).length
  );
}
