import { sql } from "kysely";
import type { Database } from "../database.ts";
import { endOpenCalls } from "./journal-writes.ts";
import { toIndex } from "./search.ts";

interface CancelledTask {
  readonly id: string;
  /** The newest event, where the task has ended now. */
  readonly seq: number;
  /** Still RUNNING: its worker has to be told. */
  readonly running: boolean;
}

export type CancelTarget = { readonly taskId: string } | { readonly batchId: string };

/**
 * Cancelling works in every state: queued and parked tasks end here, without a worker; for a running one the request
 * is stored and its worker ends it (or the sweeper, if that worker is lost). Ended tasks stay as they are.
 */
export async function cancelTasks(db: Database, projectId: string, target: CancelTarget): Promise<CancelledTask[]> {
  // Two statements: the second must see what others did (a wake, a park) while the first waited for their rows.
  return db.transaction().execute(async (tx) => {
    const match = "taskId" in target ? sql`id = ${target.taskId}` : sql`batch_id = ${target.batchId}`;
    const found = await sql<{ id: string }>`
      select id from tasks
      where ${match} and project_id = ${projectId} and status in ('QUEUED', 'PARKED', 'RUNNING')
      order by id for update
    `.execute(tx);
    const ids = found.rows.map((row) => row.id);
    return ids.length === 0 ? [] : cancelLocked(tx, ids);
  });
}

async function cancelLocked(tx: Database, ids: readonly string[]): Promise<CancelledTask[]> {
  const { rows } = await sql<CancelledTask>`
    with changed as (
      update tasks t set
        cancel_requested_at = coalesce(cancel_requested_at, now()),
        status = case t.status when 'RUNNING' then 'RUNNING' else 'CANCELLED' end,
        finished_at = case t.status when 'RUNNING' then null else now() end,
        error_code = case t.status when 'RUNNING' then null else 'CANCELLED' end,
        error_message = case t.status when 'RUNNING' then null else case t.status when 'PARKED' then 'cancelled while it was parked' else 'cancelled before it ran' end end,
        event_seq = t.event_seq + case t.status when 'RUNNING' then 0 else 1 end
      where t.id = any(${ids}::uuid[])
      returning t.id, t.event_seq as seq, t.status = 'RUNNING' as running
    ), unboxed as (
      delete from outbox o using changed c where o.task_id = c.id and not c.running
    ), logged as (
      insert into events (task_id, seq, type, data)
      select id, seq, 'task.cancelled', '{}' from changed where not running
    ), ended as (
      select id from changed where not running
    )${endOpenCalls(sql`ended`)}${toIndex(sql`ended`)}
    select * from changed
  `.execute(tx);
  return rows;
}

/** What Postgres says that a worker runs: tells it of a lost cancel message, and of a claim whose answer was lost. */
export async function runningOn(
  db: Database,
  workerId: string,
): Promise<{ id: string; segments: number; cancel: boolean }[]> {
  return db
    .selectFrom("tasks")
    .select(["id", "segments", sql<boolean>`cancel_requested_at is not null`.as("cancel")])
    .where("worker_id", "=", workerId)
    .where("status", "=", "RUNNING")
    .execute();
}
