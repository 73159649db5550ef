import { type RawBuilder, sql } from "kysely";
import type { ApprovalKind, PolicyMode, TaskErrorCode, ToolCallStatus } from "../../domain/index.ts";
import type { SegmentWrite } from "./segments.ts";
import { toIndex } from "./search.ts";
import { storable } from "./storable.ts";

/** A call on its way into the journal. */
export interface NewCall {
  readonly index: number;
  readonly path: string;
  readonly sent: string;
  /** Null: as sent. */
  readonly input: string | null;
  readonly inputHash: Buffer;
  readonly version: string;
  readonly status: ToolCallStatus;
  readonly approvalId: string | null;
  readonly wakeAt: Date | null;
  readonly output: string | null;
  readonly errorCode: TaskErrorCode | null;
  readonly errorMessage: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** The place of its outcome among those of the write, from 1; null: it has none yet. */
  readonly completion: number | null;
}

/** A change to a call that is in the journal. */
export interface CallUpdate {
  readonly index: number;
  readonly status: ToolCallStatus;
  /** Null leaves what is there. */
  readonly approvalId: string | null;
  readonly input: string | null;
  readonly inputHash: Buffer | null;
  readonly version: string | null;
  readonly wakeAt: Date | null;
  readonly output: string | null;
  readonly errorCode: TaskErrorCode | null;
  readonly errorMessage: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly completion: number | null;
}

export interface NewApproval {
  readonly id: string;
  readonly callIndex: number;
  readonly kind: ApprovalKind;
  readonly path: string;
  readonly version: string;
  readonly defaultMode: PolicyMode;
  readonly inputHash: Buffer;
  /** JSON text; not null where it is about a call that was approved with this input instead of its own. */
  readonly editedInput: string | null;
  readonly expiresInMs: number;
}

/**
 * A prepared statement may be planned while its tables are empty, when every plan looks cheap, and is then kept: joins
 * are fenced with `offset 0`, and sets of tasks are given as arrays, so that rows can only be found by their keys.
 */

/** The parts of the segments' statement that only some writes need; each hangs on the rows that `written` holds. */
export function journalWrites(writes: readonly SegmentWrite[]): RawBuilder<unknown>[] {
  const parts: RawBuilder<unknown>[] = [];
  const calls = placed(writes, "calls");
  if (calls.length > 0) parts.push(insertCalls(calls));
  const updates = placed(writes, "updates");
  if (updates.length > 0) parts.push(updateCalls(updates));
  const approvals = placed(writes, "approvals");
  if (approvals.length > 0) parts.push(insertApprovals(approvals));
  if (writes.some((write) => write.parking !== null)) parts.push(keepGuests(writes), requeue());
  const failed = writes.flatMap((write, place) => (write.end?.failure ? [place] : []));
  if (failed.length > 0) parts.push(toIndex(sql`written where index = any(${failed}::integer[])`));
  if (writes.some((write) => write.end?.leavesTraces)) parts.push(endTraces(writes, updates.length > 0));
  return parts;
}

type Placed<T> = T & { readonly write: number };

/** Each item with the place of its write. */
function placed<K extends "calls" | "updates" | "approvals">(
  writes: readonly SegmentWrite[],
  key: K,
): Placed<SegmentWrite[K][number]>[] {
  return writes.flatMap((write, place) =>
    (write[key] as readonly SegmentWrite[K][number][]).map((item) => ({ ...item, write: place })),
  );
}

function insertCalls(calls: readonly Placed<NewCall>[]): RawBuilder<unknown> {
  const column = <K extends keyof Placed<NewCall>>(key: K) => calls.map((call) => call[key]);
  return sql`, called as (
    insert into tool_calls (
      task_id, index, path, sent, input, input_hash, version, status, approval_id, wake_at, output, error_code,
      error_message, started_at, finished_at, completion
    )
    select w.id, c.index, c.path, c.sent, c.input, c.input_hash, c.version, c.status, c.approval_id, c.wake_at,
      c.output, c.error_code, c.error_message, c.started_at, c.finished_at,
      w.completed + c.completion
    from unnest(
      ${column("write")}::integer[], ${column("completion")}::integer[], ${column("index")}::integer[],
      ${column("path")}::text[], ${column("sent")}::text[], ${column("input")}::text[],
      ${column("inputHash")}::bytea[], ${column("version")}::text[], ${column("status")}::text[],
      ${column("approvalId")}::uuid[], ${column("wakeAt")}::timestamptz[], ${column("output")}::text[],
      ${column("errorCode")}::text[], ${calls.map((call) => storable(call.errorMessage))}::text[],
      ${column("startedAt")}::timestamptz[], ${column("finishedAt")}::timestamptz[]
    ) as c (
      write, completion, index, path, sent, input, input_hash, version, status, approval_id, wake_at, output, error_code,
      error_message, started_at, finished_at
    ) join written w on w.index = c.write
  )`;
}

function updateCalls(updates: readonly Placed<CallUpdate>[]): RawBuilder<unknown> {
  const column = <K extends keyof Placed<CallUpdate>>(key: K) => updates.map((update) => update[key]);
  return sql`, updated as (
    update tool_calls j set
      status = u.status,
      approval_id = coalesce(u.approval_id, j.approval_id),
      input = coalesce(u.input, j.input),
      input_hash = coalesce(u.input_hash, j.input_hash),
      version = coalesce(u.version, j.version),
      wake_at = coalesce(u.wake_at, j.wake_at),
      output = u.output,
      error_code = u.error_code,
      error_message = u.error_message,
      started_at = coalesce(u.started_at, j.started_at),
      finished_at = u.finished_at,
      completion = u.completed + u.completion
    from (select u.*, w.id as task_id, w.completed from unnest(
      ${column("write")}::integer[], ${column("completion")}::integer[], ${column("index")}::integer[],
      ${column("status")}::text[], ${column("approvalId")}::uuid[], ${column("input")}::text[],
      ${column("inputHash")}::bytea[], ${column("version")}::text[], ${column("wakeAt")}::timestamptz[],
      ${column("output")}::text[], ${column("errorCode")}::text[], ${updates.map((update) => storable(update.errorMessage))}::text[],
      ${column("startedAt")}::timestamptz[], ${column("finishedAt")}::timestamptz[]
    ) as u (
      write, completion, index, status, approval_id, input, input_hash, version, wake_at, output, error_code, error_message,
      started_at, finished_at
    ) join written w on w.index = u.write offset 0) u
    where j.task_id = u.task_id and j.index = u.index
    returning j.task_id, j.index
  )`;
}

function insertApprovals(approvals: readonly Placed<NewApproval>[]): RawBuilder<unknown> {
  const column = <K extends keyof Placed<NewApproval>>(key: K) => approvals.map((approval) => approval[key]);
  return sql`, asked_for as (
    insert into approvals (
      id, project_id, task_id, call_index, kind, status, path, version, default_mode, input_hash, edited_input,
      expires_at
    )
    select p.id, w.project_id, w.id, p.call_index, p.kind, 'PENDING', p.path, p.version, p.default_mode, p.input_hash,
      p.edited_input, now() + p.expires_in * interval '1 millisecond'
    from unnest(
      ${column("write")}::integer[], ${column("id")}::uuid[], ${column("callIndex")}::integer[],
      ${column("kind")}::text[], ${column("path")}::text[], ${column("version")}::text[],
      ${column("defaultMode")}::text[], ${column("inputHash")}::bytea[], ${column("editedInput")}::text[],
      ${column("expiresInMs")}::bigint[]
    ) as p (write, id, call_index, kind, path, version, default_mode, input_hash, edited_input, expires_in)
    join written w on w.index = p.write
  )`;
}

/** A task that parks without a snapshot must not find an older one when it wakes. */
function keepGuests(writes: readonly SegmentWrite[]): RawBuilder<unknown> {
  const parked = writes.flatMap((write, place) => (write.parking === null ? [] : [{ place, ...write.parking.kept }]));
  return sql`, guests as (
    select w.id, w.settled, w.printed, w.printed_stderr, g.image, g.state, g.calls from unnest(
      ${parked.map((guest) => guest.place)}::integer[], ${parked.map((guest) => guest.image ?? null)}::bytea[],
      ${parked.map((guest) => guest.state ?? null)}::bytea[], ${parked.map((guest) => guest.calls ?? null)}::text[]
    ) as g (write, image, state, calls) join written w on w.index = g.write
  ), kept as (
    insert into kept_guests as k (task_id, image, state, calls, settled, printed, printed_stderr)
    select id, image, state, calls, settled, printed, printed_stderr from guests where image is not null
    on conflict (task_id) do update set
      image = excluded.image, state = excluded.state, calls = excluded.calls, settled = excluded.settled,
      printed = excluded.printed, printed_stderr = excluded.printed_stderr
  ), forgotten as (
    delete from kept_guests k where k.task_id = any(array(select id from guests where image is null))
  )`;
}

function requeue(): RawBuilder<unknown> {
  return sql`, boxed as (
    insert into outbox (task_id, project_id, provider, job, priority)
    select id, project_id, provider, job, priority from written where requeued
  )`;
}

/** A call whose outcome travels with the end is not open any more: of two changes to a row, one would be lost. */
function endTraces(writes: readonly SegmentWrite[], updated: boolean): RawBuilder<unknown> {
  const places = writes.flatMap((write, place) => (write.end?.leavesTraces ? [place] : []));
  const open = updated ? sql`and (j.task_id, j.index) not in (select task_id, index from updated)` : sql``;
  return sql`, ended as (
    select id from written where index = any(${places}::integer[])
  )${endOpenCalls(sql`ended`, open)}`;
}

/** What ends with a task, as parts of the statement that ends it; `ended` names a part with the tasks' ids. */
export function endOpenCalls(ended: RawBuilder<unknown>, open: RawBuilder<unknown> = sql``): RawBuilder<unknown> {
  return sql`, moot as (
    update approvals p set status = 'CANCELLED', decided_at = now(), reason = 'the task ended'
    where p.task_id = any(array(select id from ${ended})) and p.status || '' = 'PENDING'
  ), dropped as (
    update tool_calls j set
      status = case j.status when 'WAITING' then 'CANCELLED' else 'UNKNOWN' end, finished_at = now()
    where j.task_id = any(array(select id from ${ended})) and j.completion is null ${open}
  ), unkept as (
    delete from kept_guests k where k.task_id = any(array(select id from ${ended}))
  )`;
}
