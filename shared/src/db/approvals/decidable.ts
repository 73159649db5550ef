import { type RawBuilder, sql } from "kysely";
import { type Database, PREPARED } from "../database.ts";
import { oneOf } from "../rows.ts";
import type { ApprovalRow } from "./read.ts";

/** An approval with what says who may decide it, and how. */
export type Decidable = ApprovalRow & {
  /** The key that submitted the task. */
  readonly submitted_by: string | null;
  readonly session: string | null;
  /** The project lets a key decide on what it submitted itself. */
  readonly self_approval: boolean;
  /** Its time is up by the database's clock, whether or not the sweeper has been there. */
  readonly expired: boolean;
  /** Its task is to be cancelled, and has not ended yet. */
  readonly cancelling: boolean;
};

const SELECT = sql`
  select p.*, t.submitted_by, t.session, o.self_approval, p.expires_at <= now() as expired,
    t.cancel_requested_at is not null as cancelling
  from approvals p join tasks t on t.id = p.task_id join projects o on o.id = p.project_id
`;

/** In the order of the ids, of whatever project; null where there is none. */
export async function findDecidable(db: Database, ids: readonly string[]): Promise<(Decidable | null)[]> {
  const { rows } = await sql<Decidable>`${PREPARED} ${SELECT} where p.id = ${oneOf("uuid", ids)}`.execute(db);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id.toLowerCase()) ?? null);
}

export interface PendingFilter {
  readonly batch: string | null;
  readonly toolPath: string | null;
  /** Hex. */
  readonly inputHash: string | null;
}

/** Pending approvals of calls that the filter matches, the oldest first. */
export async function findPending(
  db: Database,
  projectId: string,
  filter: PendingFilter,
  limit: number,
): Promise<Decidable[]> {
  const conditions: RawBuilder<unknown>[] = [];
  if (filter.batch !== null) conditions.push(sql`and t.batch_id = ${filter.batch}`);
  if (filter.toolPath !== null) conditions.push(sql`and p.path = ${filter.toolPath}`);
  if (filter.inputHash !== null) conditions.push(sql`and p.input_hash = decode(${filter.inputHash}, 'hex')`);
  const { rows } = await sql<Decidable>`
    ${SELECT} where p.project_id = ${projectId} and p.status = 'PENDING' and p.kind = 'TOOL_CALL'
    ${sql.join(conditions, sql` `)} order by p.id limit ${limit}
  `.execute(db);
  return rows;
}

/** What a person was shown, as JSON text, and the schema that it had to fit. */
export interface Asked {
  readonly input: string;
  /** Null where the tool's version is not known any more. */
  readonly inputSchema: string | null;
}

/** By approval; one that is about no call is absent. */
export async function findAsked(db: Database, approvalIds: readonly string[]): Promise<Map<string, Asked>> {
  const { rows } = await sql<Asked & { id: string }>`
    select p.id, coalesce(p.edited_input, c.input, c.sent) as input, t.input_schema as "inputSchema"
    from approvals p join tool_calls c on c.task_id = p.task_id and c.index = p.call_index
    left join tools t on t.path = p.path and t.version = p.version
    where p.id = any(${approvalIds}::uuid[])
  `.execute(db);
  return new Map(rows.map(({ id, ...asked }) => [id, asked]));
}
