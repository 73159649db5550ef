import { sql } from "kysely";
import { smallestIdAt } from "../contracts/index.ts";
import type { Database } from "./database.ts";

const DAY_MS = 86_400_000;
const ENDED = ["SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT"].map((status) => sql.lit(status));

/**
 * Deletes a project's ended tasks that are older than its retention, at most `limit` of them, oldest first, with all
 * that belongs to them. Files of a session stay: later tasks of the session may read them. Answers how many.
 */
export async function deleteExpiredTasks(
  db: Database,
  project: { id: string; retentionDays: number },
  limit: number,
): Promise<number> {
  // What ended so long ago was submitted before that: the index of ended tasks by id finds it, without those that wait.
  const newest = smallestIdAt(new Date(Date.now() - project.retentionDays * DAY_MS));
  const { rows } = await sql<{ tasks: number }>`
    with oldest as materialized (
      select o.id from unnest(array[${sql.join(ENDED)}]) as s (status) cross join lateral (
        select id from tasks t
        where project_id = ${project.id} and t.status = s.status and t.status in (${sql.join(ENDED)})
          and id < ${newest} and finished_at < now() - ${project.retentionDays} * interval '1 day'
        order by id limit ${limit}
      ) o order by o.id limit ${limit}
    ), expired as materialized (
      select id from tasks where id = any(array(select id from oldest)) order by id for update skip locked
    ), events_gone as (delete from events where task_id in (select id from expired)
    ), calls_gone as (delete from tool_calls where task_id in (select id from expired)
    ), approvals_gone as (delete from approvals where task_id in (select id from expired)
    ), guests_gone as (delete from kept_guests where task_id in (select id from expired)
    ), files_gone as (
      delete from artifacts where task_id in (select id from expired) and session is null returning project_id, sha256
    ), pins_gone as (delete from session_files where task_id in (select id from expired) returning project_id, sha256
    ), freed as (
      select project_id, sha256 from contents
      where (project_id, sha256) in (select * from files_gone union select * from pins_gone)
      order by project_id, sha256 for update
    ), marked as (
      update contents c set check_at = greatest(c.check_at, now()) from freed f
      where c.project_id = f.project_id and c.sha256 = f.sha256
    ), leases_gone as (delete from leases where task_id in (select id from expired) and ended_at is not null
    ), search_gone as (delete from task_search where task_id in (select id from expired)
    ), labels_gone as (delete from task_labels where task_id in (select id from expired)
    ), tasks_gone as (delete from tasks where id in (select id from expired) returning id)
    select count(*)::integer as tasks from tasks_gone
  `.execute(db);
  return rows[0]?.tasks ?? 0;
}

export async function listRetentions(db: Database): Promise<{ id: string; retentionDays: number }[]> {
  const rows = await db
    .selectFrom("projects")
    .select(["id", "retention_days as retentionDays"])
    .where("retention_days", "is not", null)
    .orderBy("id")
    .execute();
  return rows.map(({ id, retentionDays }) => ({ id, retentionDays: retentionDays as number }));
}

/** Null keeps tasks for ever. */
export async function setRetention(db: Database, projectId: string, days: number | null): Promise<void> {
  await db.updateTable("projects").set({ retention_days: days }).where("id", "=", projectId).execute();
}
