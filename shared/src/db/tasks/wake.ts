import { type RawBuilder, sql } from "kysely";
import { FEED_WINDOW } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import type { JobToAdd } from "./submit.ts";

/** What waking did, for whoever has to tell the queue, the workers and the subscribers. */
export interface Woken {
  /** To put into BullMQ now; others that woke wait in the outbox for the feeder. */
  readonly toEnqueue: readonly JobToAdd[];
  /** Running tasks: their workers look for the outcome. */
  readonly running: readonly string[];
  /** `[task id, newest seq]`. */
  readonly events: readonly [string, number][];
}

export interface WokenRow {
  readonly id: string;
  readonly provider: string;
  readonly job: number;
  readonly priority: number;
  readonly seq: number;
  readonly queued: boolean;
  readonly enqueue: boolean;
  readonly running: boolean;
}

/**
 * The one wake path, as parts of the statement that stores the outcomes. `tasks` names a part with `id` and `outcomes`
 * (how many; each gets one event) of tasks whose rows that statement has locked, and `approvals` and `told` (the
 * events' data), which are handed on. PARKED becomes QUEUED with an outbox row; for a RUNNING task the outcome is
 * counted, which keeps its segment from parking before it has seen it.
 *
 * Parts are not joined with each other: a plan that is kept expects few rows in them, and compares each with each.
 */
export function wakeParts(tasks: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`woken as (
    update tasks t set
      wakes = t.wakes + 1,
      event_seq = t.event_seq + o.outcomes,
      status = case t.status when 'PARKED' then 'QUEUED' else t.status end,
      job = t.job + case t.status when 'PARKED' then 1 else 0 end,
      wake_at = case t.status when 'PARKED' then null else t.wake_at end,
      waiting_for = case t.status when 'PARKED' then null else t.waiting_for end
    from ${tasks} o
    where t.id = o.id and t.status in ('PARKED', 'QUEUED', 'RUNNING')
    returning t.id, t.project_id, t.provider, t.job, t.priority, t.event_seq as seq, t.event_seq - o.outcomes as base,
      t.status = 'QUEUED' and not exists (select from outbox b where b.task_id = t.id) as queued,
      t.status = 'RUNNING' as running, o.approvals, o.told
  ), held as materialized (
    select p.project_id, p.provider, (
      select count(*) from outbox b
      where b.project_id = p.project_id and b.provider = p.provider and b.enqueued_at is not null
    ) as jobs
    from (select distinct project_id, provider from woken) p
  ), placed as (
    select w.*, w.queued and ${FEED_WINDOW} >= h.jobs + row_number() over (
      partition by w.project_id, w.provider, w.queued order by w.priority desc, w.id
    ) as enqueue
    from woken w join held h using (project_id, provider)
  ), boxed as (
    insert into outbox (task_id, project_id, provider, job, priority, enqueued_at)
    select id, project_id, provider, job, priority, case when enqueue then now() end from placed where queued
    on conflict (task_id) do nothing
  )`;
}

export function toWoken(rows: readonly WokenRow[]): Woken {
  return {
    toEnqueue: rows
      .filter((row) => row.enqueue)
      .map((row) => ({ taskId: row.id, provider: row.provider, job: row.job, priority: row.priority })),
    running: rows.filter((row) => row.running).map((row) => row.id),
    events: rows.map((row) => [row.id, row.seq]),
  };
}

/** Parked tasks whose time has come: a sleep has ended or a timer is due. */
export async function wakeDue(db: Database): Promise<Woken> {
  const { rows } = await sql<WokenRow>`
    with due as (
      select id, 0 as outcomes, null as approvals, null as told from tasks where status = 'PARKED' and wake_at <= now()
      order by wake_at limit 1000 for update skip locked
    ), ${wakeParts(sql`due`)}
    select id, provider, job, priority, seq, queued, enqueue, running from placed
  `.execute(db);
  return toWoken(rows);
}

/** Until the first parked task's time comes, by the database's clock; 0 where it has come, null where none sleeps. */
export async function msToNextWake(db: Database): Promise<number | null> {
  const { rows } = await sql<{ ms: number }>`
    select greatest(0, ceil(extract(epoch from wake_at - clock_timestamp()) * 1000))::float8 as ms from tasks
    where status = 'PARKED' and wake_at is not null order by wake_at limit 1
  `.execute(db);
  return rows[0]?.ms ?? null;
}
