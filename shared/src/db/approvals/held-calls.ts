import { sql } from "kysely";
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

/** The tools that a project's held calls are for. */
export async function listHeldPaths(db: Database, projectId: string): Promise<string[]> {
  const { rows } = await sql<{ path: string }>`
    select distinct path from approvals
    where project_id = ${projectId} and status = 'PENDING' and kind = 'TOOL_CALL'
  `.execute(db);
  return rows.map((row) => row.path);
}

/** In the order of their tasks, which is the order in which statements that settle many approvals lock them. */
export async function listHeldCalls(db: Database, projectId: string, paths: readonly string[]): Promise<HeldCall[]> {
  const { rows } = await sql<HeldCall>`
    select p.id as "approvalId", p.task_id as "taskId", t.session, p.path,
      encode(p.input_hash, 'hex') as "inputHash", p.default_mode as "defaultMode"
    from approvals p join tasks t on t.id = p.task_id
    where p.project_id = ${projectId} and p.status = 'PENDING' and p.kind = 'TOOL_CALL'
      and p.path = any(${paths}::text[])
    order by p.task_id, p.id
  `.execute(db);
  return rows;
}
