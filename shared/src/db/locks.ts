import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Database } from "./database.ts";

/** What every later run of a task needs to get the same as its first. */
export interface ProvisionPins {
  /** The content of a lock. */
  readonly lock: string | null;
  readonly commit: string | null;
}

export function lockHash(content: string): Buffer {
  return createHash("sha256").update(content).digest();
}

export async function findLock(db: Database, hash: Buffer): Promise<string | null> {
  const row = await db.selectFrom("locks").select("content").where("hash", "=", hash).executeTakeFirst();
  return row?.content ?? null;
}

/** From now on every run of the task has these; what was pinned before stays. False where the fence is lost. */
export async function pinProvision(
  db: Database,
  { taskId, fence }: { taskId: string; fence: number },
  { lock, commit }: ProvisionPins,
): Promise<boolean> {
  const hash = lock === null ? null : lockHash(lock);
  const { rows } = await sql`
    with kept as (
      insert into locks (hash, content) select ${hash}::bytea, ${lock}::text where ${hash}::bytea is not null
      on conflict (hash) do nothing
    )
    update tasks set lock_hash = coalesce(lock_hash, ${hash}::bytea), commit_hash = coalesce(commit_hash, ${commit}::text)
    where id = ${taskId} and segments = ${fence} and status = 'RUNNING' returning id
  `.execute(db);
  return rows.length > 0;
}

/** Deletes locks that no task has; those of the last day may be about to get one. */
export async function deleteUnusedLocks(db: Database): Promise<number> {
  const result = await db
    .deleteFrom("locks")
    .where("created_at", "<", sql<Date>`now() - interval '1 day'`)
    .where((where) =>
      where.not(where.exists(where.selectFrom("tasks").select("id").whereRef("tasks.lock_hash", "=", "locks.hash"))),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
