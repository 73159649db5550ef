import { sql } from "kysely";
import { type Database, PREPARED } from "./database.ts";
import type { JobToAdd } from "./tasks/submit.ts";

interface OutboxRow {
  task_id: string;
  provider: string;
  job: number;
  priority: number;
}

const toJob = (row: OutboxRow): JobToAdd => ({
  taskId: row.task_id,
  provider: row.provider,
  job: row.job,
  priority: row.priority,
});

/**
 * The feeder's step: fills each project's window (times its weight) with its most urgent waiting tasks and marks them
 * as enqueued. Concurrent feeders skip each other's rows.
 */
export async function takeWaiting(db: Database, provider: string, window: number): Promise<JobToAdd[]> {
  const { rows } = await sql<OutboxRow>`
    ${PREPARED} with room as (
      select p.id as project_id, ${window} * p.weight - (
        select count(*) from outbox o
        where o.project_id = p.id and o.provider = ${provider} and o.enqueued_at is not null
      ) as jobs
      from projects p
      where exists (
        select from outbox o
        where o.provider = ${provider} and o.project_id = p.id and o.enqueued_at is null and o.run_at is null
      )
    ), next as (
      select n.task_id from room cross join lateral (
        select task_id from outbox o
        where o.provider = ${provider} and o.project_id = room.project_id
          and o.enqueued_at is null and o.run_at is null
        order by o.priority desc, o.task_id
        limit greatest(room.jobs, 0)
        for update skip locked
      ) n
    )
    update outbox o set enqueued_at = now() from next where o.task_id = next.task_id
    returning o.task_id, o.provider, o.job, o.priority
  `.execute(db);
  return rows.toSorted((a, b) => b.priority - a.priority || (a.task_id < b.task_id ? -1 : 1)).map(toJob);
}

/** Delayed tasks whose time has come become runnable: since then they wait. */
export async function releaseDue(db: Database): Promise<number> {
  const result = await db
    .updateTable("outbox")
    .set({ run_at: null, since: sql<Date>`run_at` })
    .where("run_at", "<=", sql<Date>`now()`)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/**
 * Tasks that were enqueued a while ago and are not claimed yet: their job waits its turn, or it was lost with Redis.
 * Adding a job again under the same id changes nothing where it still is, so nobody has to ask which.
 */
export async function takeUnclaimed(db: Database, olderThanMs: number, limit: number): Promise<JobToAdd[]> {
  const { rows } = await sql<OutboxRow>`
    with stale as (
      select task_id from outbox
      where enqueued_at < now() - ${olderThanMs} * interval '1 millisecond'
      order by enqueued_at limit ${limit} for update skip locked
    )
    update outbox o set enqueued_at = now() from stale where o.task_id = stale.task_id
    returning o.task_id, o.provider, o.job, o.priority
  `.execute(db);
  return rows.map(toJob);
}
