import { type Selectable, sql } from "kysely";
import type { LeasePolicy, LeaseState } from "../domain/index.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";
import { storable } from "./tasks/index.ts";

export type LeaseRow = Selectable<Tables["leases"]>;

export interface NewLease {
  readonly id: string;
  readonly projectId: string;
  /** Null: of a probe. */
  readonly taskId: string | null;
  readonly fence: number | null;
  readonly environment: string;
  readonly environmentId: string | null;
  readonly revision: number | null;
  readonly provider: string;
  readonly workerId: string;
  readonly host: string;
  readonly policy: LeasePolicy;
}

/** Before the sandbox is asked for: whatever exists has its row. */
export async function insertLeases(db: Database, leases: readonly NewLease[]): Promise<void> {
  await db
    .insertInto("leases")
    .values(
      leases.map((lease) => ({
        id: lease.id,
        project_id: lease.projectId,
        task_id: lease.taskId,
        fence: lease.fence,
        environment: lease.environment,
        environment_id: lease.environmentId,
        revision: lease.revision,
        provider: lease.provider,
        worker_id: lease.workerId,
        host: lease.host,
        policy: lease.policy,
        state: "ACTIVE" as const,
      })),
    )
    .execute();
}

/** How its worker left a lease. */
export interface LeaseEnd {
  readonly id: string;
  readonly state: Exclude<LeaseState, "ACTIVE" | "EXPIRED">;
  readonly error: string | null;
  /** For RETAINED. */
  readonly retainMs: number | null;
}

/** A lease that was taken from its worker meanwhile is the reaper's, and stays as it is. */
export async function endLeases(db: Database, ends: readonly LeaseEnd[]): Promise<void> {
  await sql`
    update leases l set state = a.state, error = a.error,
      ended_at = case when a.state in ('RELEASED', 'FAILED') then now() end,
      expires_at = now() + a.retain_ms * interval '1 millisecond'
    from unnest(
      ${ends.map((end) => end.id)}::uuid[], ${ends.map((end) => end.state)}::text[],
      ${ends.map((end) => storable(end.error))}::text[], ${ends.map((end) => end.retainMs)}::bigint[]
    ) as a (id, state, error, retain_ms)
    where l.id = a.id and l.state = 'ACTIVE'
  `.execute(db);
}

/**
 * A sandbox that rested on this worker goes on under another lease, or is gone. Of all who want to end the lease (this
 * worker, a person, the reaper) one does: false where it was another.
 */
export async function endRestedLease(db: Database, lease: { id: string; workerId: string }): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("leases")
    .set({ state: "RELEASED", ended_at: sql<Date>`now()`, expires_at: null })
    .where("id", "=", lease.id)
    .where("worker_id", "=", lease.workerId)
    .where("state", "=", "RETAINED")
    .where("policy", "=", "REUSE_BY_SESSION")
    .where("expires_at", ">", sql<Date>`now()`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function listLeases(
  db: Database,
  projectId: string,
  { states, limit }: { states: readonly LeaseState[] | null; limit: number },
): Promise<LeaseRow[]> {
  return db
    .selectFrom("leases")
    .selectAll()
    .where("project_id", "=", projectId)
    .$if(states !== null, (query) => query.where("state", "=", sql<LeaseState>`any(${states}::text[])`))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}

/** By task, the first first. */
export async function leasesOfTasks(db: Database, taskIds: readonly string[]): Promise<Map<string, LeaseRow[]>> {
  const rows = await db
    .selectFrom("leases")
    .selectAll()
    .where("task_id", "=", sql<string>`any(${taskIds}::uuid[])`)
    .orderBy("id")
    .execute();
  return Map.groupBy(rows, (row) => row.task_id as string);
}

export async function lockLease(tx: Database, projectId: string, id: string): Promise<LeaseRow | null> {
  const row = await tx
    .selectFrom("leases")
    .selectAll()
    .where("id", "=", id)
    .where("project_id", "=", projectId)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** A retained one is given up: the reaper destroys it. */
export async function giveUpLease(tx: Database, id: string): Promise<LeaseRow> {
  return tx
    .updateTable("leases")
    .set({ state: "PENDING_CLEANUP", retry_at: sql<Date>`now()` })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
}
