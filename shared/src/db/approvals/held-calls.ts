import { sql } from "kysely";
import { smallestIdAt } from "../../contracts/index.ts";
import type { PolicyMode } from "../../domain/index.ts";
import type { Database } from "../database.ts";

/** A call that waits for a person, with what policies judge it by. */
export interface HeldCall {
  readonly approvalId: string;
  readonly taskId: string;
  readonly session: string | null;
  readonly path: string;
  /** Hex. */
  readonly inputHash: string;
  /** What the tool itself asks for with this input, below all policies. */
  readonly defaultMode: PolicyMode;
}

const HELD_CALL = sql`
  p.id as "approvalId", p.task_id as "taskId", t.session, p.path, encode(p.input_hash, 'hex') as "inputHash",
  p.default_mode as "defaultMode"
`;

/** The tools that a project's held calls are for. */
export async function listHeldPaths(db: Database, projectId: string): Promise<string[]> {
  const { rows } = await sql<{ path: string }>`
    select distinct path from approvals
    where project_id = ${projectId} and status = 'PENDING' and kind = 'TOOL_CALL'
  `.execute(db);
  return rows.map((row) => row.path);
}

/** Ids and the times in Postgres come from different clocks. */
const SKEW_MS = 60_000;

/**
 * Of projects whose policies changed in the last `withinMs`: the calls that were held since, or not longer than that
 * before. One look at an index where no policies changed.
 */
export async function listHeldBesideChanges(
  db: Database,
  withinMs: number,
): Promise<(HeldCall & { readonly projectId: string })[]> {
  const within = sql`${withinMs} * interval '1 millisecond'`;
  const { rows } = await sql<HeldCall & { projectId: string }>`
    select ${HELD_CALL}, p.project_id as "projectId"
    from projects o join approvals p on p.project_id = o.id join tasks t on t.id = p.task_id
    where o.policies_changed_at > now() - ${within} and p.status = 'PENDING' and p.kind = 'TOOL_CALL'
      and p.id >= ${smallestIdAt(new Date(Date.now() - 2 * withinMs - SKEW_MS))}
      and p.requested_at > o.policies_changed_at - ${within}
    order by p.task_id, p.id
  `.execute(db);
  return rows;
}

/** In the order of their tasks, which is the order in which statements that settle many approvals lock them. */
export async function listHeldCalls(db: Database, projectId: string, paths: readonly string[]): Promise<HeldCall[]> {
  const { rows } = await sql<HeldCall>`
    select ${HELD_CALL}
    from approvals p join tasks t on t.id = p.task_id
    where p.project_id = ${projectId} and p.status = 'PENDING' and p.kind = 'TOOL_CALL'
      and p.path = any(${paths}::text[])
    order by p.task_id, p.id
  `.execute(db);
  return rows;
}
