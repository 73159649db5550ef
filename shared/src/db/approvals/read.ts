import { type Selectable, sql } from "kysely";
import type { ApprovalStatus } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import type { ApprovalsTable } from "../tables.ts";

export type ApprovalRow = Selectable<ApprovalsTable>;

export async function findApproval(db: Database, projectId: string, id: string): Promise<ApprovalRow | null> {
  const [row] = await findApprovals(db, projectId, [id]);
  return row ?? null;
}

/** In the order of the ids; null where the project has no such approval. */
export async function findApprovals(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<(ApprovalRow | null)[]> {
  const rows = await db
    .selectFrom("approvals")
    .selectAll()
    .where("id", "=", sql<string>`any(${ids}::uuid[])`)
    .where("project_id", "=", projectId)
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id) ?? null);
}

/** The newest first. */
export async function listApprovals(
  db: Database,
  projectId: string,
  page: { status: ApprovalStatus | null; limit: number; after: string | null },
): Promise<ApprovalRow[]> {
  let query = db.selectFrom("approvals").selectAll().where("project_id", "=", projectId);
  // As a literal, so that the planner can use the index of pending ones.
  if (page.status === "PENDING") query = query.where(sql<boolean>`status = 'PENDING'`);
  else if (page.status !== null) query = query.where("status", "=", page.status);
  if (page.after !== null) query = query.where("id", "<", page.after);
  return query.orderBy("id", "desc").limit(page.limit).execute();
}

export interface ApprovalIds {
  /** In the order asked for. */
  readonly pending: readonly string[];
  /** Those decided already, of the ids from `from` on. */
  readonly decided: readonly string[];
}

/** What is pending, and what was decided of the newest: ids in the order asked for. */
export async function listApprovalIds(db: Database, projectId: string, from: string): Promise<ApprovalIds> {
  const ofProject = sql`select coalesce(array_agg(id order by id), '{}') from approvals where project_id = ${projectId}`;
  const { rows } = await sql<ApprovalIds>`
    select (${ofProject} and status = 'PENDING') as pending,
      (${ofProject} and id >= ${from} and status <> 'PENDING') as decided
  `.execute(db);
  return rows[0] as ApprovalIds;
}

/** Of the given tasks, as far as they are of the given projects: those pending and those decided a moment ago. */
export async function listRecentApprovals(
  db: Database,
  projectIds: readonly string[],
  taskIds: readonly string[],
): Promise<ApprovalRow[]> {
  return db
    .selectFrom("approvals")
    .selectAll()
    .where("task_id", "=", sql<string>`any(${taskIds}::uuid[])`)
    .where("project_id", "=", sql<string>`any(${projectIds}::uuid[])`)
    .where(sql<boolean>`(status || '' = 'PENDING' or decided_at > now() - interval '1 minute')`)
    .orderBy("id")
    .execute();
}

/** In the order asked for, of many tasks at once. */
export async function listApprovalsOf(db: Database, taskIds: readonly string[]): Promise<Map<string, ApprovalRow[]>> {
  const rows = await db
    .selectFrom("approvals")
    .selectAll()
    .where("task_id", "=", sql<string>`any(${taskIds}::uuid[])`)
    .orderBy("id")
    .execute();
  return Map.groupBy(rows, (row) => row.task_id);
}

/** Approvals whose time ran out some time ago: their own job should have expired them, and was lost. */
export async function findOverdue(db: Database, graceMs: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom("approvals")
    .select("id")
    .where(sql<boolean>`status = 'PENDING'`)
    .where("expires_at", "<", sql<Date>`now() - ${graceMs} * interval '1 millisecond'`)
    .orderBy("expires_at")
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Pending approvals of a tool version that no live worker has, while one has another version of the tool. */
export async function findOutdated(db: Database, lapseMs: number, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with versions as (
      select distinct path, version from approvals where status = 'PENDING' and kind in ('TOOL_CALL', 'QUESTION')
    ), offered as (
      select distinct split_part(tool, '@', 1) as path, split_part(tool, '@', 2) as version
      from workers w cross join unnest(w.tools) as tool
      where w.state = 'RUNNING' and w.last_seen_at > now() - ${lapseMs} * interval '1 millisecond'
    ), outdated as (
      select v.path, v.version from versions v
      where exists (select from offered o where o.path = v.path)
        and not exists (select from offered o where o.path = v.path and o.version = v.version)
    )
    select p.id from outdated d join approvals p on p.path = d.path and p.version = d.version
    where p.status = 'PENDING' and p.kind in ('TOOL_CALL', 'QUESTION') order by p.id limit ${limit}
  `.execute(db);
  return rows.map((row) => row.id);
}
