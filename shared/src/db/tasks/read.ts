import { type Selectable, sql } from "kysely";
import type { TaskStatus } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import type { TasksTable } from "../tables.ts";
import { matches, type TaskFilter } from "./filter.ts";
import { wouldBeFound } from "./search.ts";

export type TaskRow = Selectable<TasksTable>;

export async function findTask(db: Database, projectId: string, id: string): Promise<TaskRow | null> {
  const row = await db
    .selectFrom("tasks")
    .selectAll()
    .where("id", "=", id)
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  return row ?? null;
}

/** How far a task's log goes. */
export interface TaskHead {
  readonly id: string;
  readonly seq: number;
  readonly status: TaskStatus;
}

export async function findTaskHead(db: Database, projectId: string, id: string): Promise<TaskHead | null> {
  const row = await db
    .selectFrom("tasks")
    .select(["id", "event_seq as seq", "status"])
    .where("id", "=", id)
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  return row ?? null;
}

/** Of whatever projects; a task that is gone is absent. */
export async function findTaskHeads(db: Database, ids: readonly string[]): Promise<Map<string, TaskHead>> {
  const rows = await db
    .selectFrom("tasks")
    .select(["id", "event_seq as seq", "status"])
    .where("id", "=", sql<string>`any(${ids}::uuid[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** In the order of the ids; null where the project has no such task. */
export async function findTasks(db: Database, projectId: string, ids: readonly string[]): Promise<(TaskRow | null)[]> {
  const rows = await db
    .selectFrom("tasks")
    .selectAll()
    .where("id", "=", sql<string>`any(${ids}::uuid[])`)
    .where("project_id", "=", projectId)
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id) ?? null);
}

export async function findTaskByIdempotencyKey(db: Database, projectId: string, key: string): Promise<TaskRow | null> {
  const row = await db
    .selectFrom("tasks")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("idempotency_key", "=", key)
    .executeTakeFirst();
  return row ?? null;
}

/** What differs where a task has changed; its code, input and output may have megabytes. */
export type TaskState = Pick<TaskRow, "id" | "status" | "segments">;

/** Of the task `t`. */
export const STATE_OF_TASK = sql<TaskState>`t.id, t.status, t.segments`;

/** Those of the given tasks that match. */
export async function matchingTaskStates(
  db: Database,
  projectId: string,
  filter: TaskFilter,
  ids: readonly string[],
): Promise<TaskState[]> {
  const { rows } = await sql<TaskState>`
    select ${STATE_OF_TASK} from tasks t
    where t.id = any(${ids}::uuid[]) and ${matches(projectId, filter, wouldBeFound)} order by t.id
  `.execute(db);
  return rows;
}

/** In no order; a task that is gone, or of another project, is absent. */
export async function findTaskStates(db: Database, projectId: string, ids: readonly string[]): Promise<TaskState[]> {
  const { rows } = await sql<TaskState>`
    select ${STATE_OF_TASK} from tasks t where t.id = any(${ids}::uuid[]) and t.project_id = ${projectId}
  `.execute(db);
  return rows;
}

/** Those of the given tasks that are of the given projects. */
export async function tasksAmong(
  db: Database,
  projectIds: readonly string[],
  ids: readonly string[],
): Promise<Pick<TaskRow, "id" | "project_id">[]> {
  return db
    .selectFrom("tasks")
    .select(["id", "project_id"])
    .where("id", "=", sql<string>`any(${ids}::uuid[])`)
    .where("project_id", "=", sql<string>`any(${projectIds}::uuid[])`)
    .execute();
}

/** In the order of submission; `after` is the id of the last task of the page before. */
export async function listBatchTasks(
  db: Database,
  batchId: string,
  page: { limit: number; after: string | null },
): Promise<TaskRow[]> {
  // `offset 0` keeps the planner from looking for a young batch along all tasks, the oldest first.
  const { rows } = await sql<TaskRow>`
    select t.* from (select id from tasks where batch_id = ${batchId} offset 0) b join tasks t on t.id = b.id
    where ${page.after}::uuid is null or b.id > ${page.after}
    order by b.id limit ${page.limit}
  `.execute(db);
  return rows;
}

/** Labels of many tasks: task id → key → JSON text of a scalar. */
export async function labelsOf(db: Database, taskIds: readonly string[]): Promise<Map<string, [string, string][]>> {
  const rows = await db
    .selectFrom("task_labels")
    .select(["task_id", "key", "value"])
    .where("task_id", "=", sql<string>`any(${taskIds}::uuid[])`)
    .orderBy("key")
    .execute();
  const labels = new Map<string, [string, string][]>();
  for (const row of rows) {
    const pairs = labels.get(row.task_id) ?? [];
    pairs.push([row.key, row.value]);
    labels.set(row.task_id, pairs);
  }
  return labels;
}
