import { type Selectable, type SelectQueryBuilder, sql } from "kysely";
import type { TaskStatus } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import type { Tables, TasksTable } from "../tables.ts";

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

export interface TaskFilter {
  readonly status?: readonly TaskStatus[] | undefined;
  readonly environment?: string | undefined;
  readonly session?: string | undefined;
  readonly batchId?: string | undefined;
  /** Key and JSON text of a scalar; all must match. */
  readonly labels?: readonly (readonly [string, string])[] | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  /** Part of the code, of a label's value or of the error message. */
  readonly search?: string | undefined;
}

/** Newest first; `after` is the id of the last task of the page before. */
export async function listTasks(
  db: Database,
  projectId: string,
  filter: TaskFilter,
  page: { limit: number; after: string | null },
): Promise<TaskRow[]> {
  let query = db.selectFrom("tasks").selectAll().where("project_id", "=", projectId);
  query = applyFilter(query, filter);
  if (page.after !== null) query = query.where("id", "<", page.after);
  return query.orderBy("id", "desc").limit(page.limit).execute();
}

/** Those of the given tasks that match. */
export async function matchingTasks(
  db: Database,
  projectId: string,
  filter: TaskFilter,
  ids: readonly string[],
): Promise<TaskRow[]> {
  const query = db.selectFrom("tasks").selectAll().where("project_id", "=", projectId);
  return applyFilter(query, filter)
    .where("id", "=", sql<string>`any(${ids}::uuid[])`)
    .orderBy("id")
    .execute();
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
  let query = db.selectFrom("tasks").selectAll().where("batch_id", "=", batchId);
  if (page.after !== null) query = query.where("id", ">", page.after);
  return query.orderBy("id").limit(page.limit).execute();
}

type TaskQuery = SelectQueryBuilder<Tables, "tasks", TaskRow>;

function applyFilter(query: TaskQuery, filter: TaskFilter): TaskQuery {
  const { status, environment, session, batchId, labels, createdAfter, createdBefore, search } = filter;
  let q = query;
  if (status) q = q.where("status", "in", status.length > 0 ? [...status] : [sql<TaskStatus>`null`]);
  if (environment !== undefined) q = q.where("environment", "=", environment);
  if (session !== undefined) q = q.where("session", "=", session);
  if (batchId !== undefined) q = q.where("batch_id", "=", batchId);
  if (createdAfter) q = q.where("created_at", ">", createdAfter);
  if (createdBefore) q = q.where("created_at", "<", createdBefore);
  for (const [key, value] of labels ?? []) {
    q = q.where((eb) =>
      eb.exists(
        eb
          .selectFrom("task_labels as l")
          .select("l.task_id")
          .whereRef("l.task_id", "=", "tasks.id")
          .where("l.key", "=", key)
          .where("l.value", "=", value),
      ),
    );
  }
  if (search !== undefined) q = q.where(matches(search));
  return q;
}

function matches(search: string) {
  const pattern = `%${search.replaceAll(/[\\%_]/g, "\\$&")}%`;
  return sql<boolean>`(
    code ilike ${pattern} or error_message ilike ${pattern}
    or exists (select from task_labels l where l.task_id = tasks.id and (l.key ilike ${pattern} or l.value ilike ${pattern}))
  )`;
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
