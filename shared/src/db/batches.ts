import { type Selectable, sql } from "kysely";
import type { TaskStatus } from "../domain/index.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

export type BatchRow = Selectable<Tables["batches"]>;

export interface NewBatch {
  readonly id: string;
  readonly projectId: string;
  readonly label: string | null;
  readonly total: number;
  readonly idempotencyKey: string | null;
  readonly fingerprint: Buffer | null;
}

/** False where the idempotency key is taken; a racing twin is waited for, so the taken one can be read after. */
export async function insertBatch(db: Database, batch: NewBatch): Promise<boolean> {
  const result = await db
    .insertInto("batches")
    .values({
      id: batch.id,
      project_id: batch.projectId,
      label: batch.label,
      total: batch.total,
      idempotency_key: batch.idempotencyKey,
      fingerprint: batch.fingerprint,
    })
    .onConflict((conflict) =>
      conflict.columns(["project_id", "idempotency_key"]).where("idempotency_key", "is not", null).doNothing(),
    )
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

export async function findBatch(db: Database, projectId: string, id: string): Promise<BatchRow | null> {
  const row = await db
    .selectFrom("batches")
    .selectAll()
    .where("id", "=", id)
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  return row ?? null;
}

/** In the order of the ids; null where the project has no such batch. */
export async function findBatches(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<(BatchRow | null)[]> {
  const rows = await db
    .selectFrom("batches")
    .selectAll()
    .where("id", "=", sql<string>`any(${ids}::uuid[])`)
    .where("project_id", "=", projectId)
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id) ?? null);
}

export async function findBatchByIdempotencyKey(
  db: Database,
  projectId: string,
  key: string,
): Promise<BatchRow | null> {
  const row = await db
    .selectFrom("batches")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("idempotency_key", "=", key)
    .executeTakeFirst();
  return row ?? null;
}

/** How many tasks of each batch are in each state; a state without tasks is absent. */
export async function countBatches(
  db: Database,
  batchIds: readonly string[],
): Promise<Map<string, Partial<Record<TaskStatus, number>>>> {
  const { rows } = await sql<{ batch_id: string; status: TaskStatus; tasks: number }>`
    select batch_id, status, count(*)::integer as tasks from tasks
    where batch_id = any(${batchIds}::uuid[]) group by 1, 2
  `.execute(db);
  const counts = new Map<string, Partial<Record<TaskStatus, number>>>(batchIds.map((id) => [id, {}]));
  for (const row of rows) {
    const of = counts.get(row.batch_id);
    if (of) of[row.status] = row.tasks;
  }
  return counts;
}

/** Those of the given batches that have one of the given tasks. */
export async function batchesAmong(
  db: Database,
  batchIds: readonly string[],
  taskIds: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select distinct batch_id as id from tasks
    where id = any(${taskIds}::uuid[]) and batch_id = any(${batchIds}::uuid[])
  `.execute(db);
  return rows.map((row) => row.id);
}
