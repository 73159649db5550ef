import { type Selectable, sql } from "kysely";
import { newId } from "../contracts/index.ts";
import type { PolicyMode, PolicyRule, RememberScope } from "../domain/index.ts";
import { type Database, PREPARED } from "./database.ts";
import { oneOf } from "./rows.ts";
import type { Tables } from "./tables.ts";

export type PolicyRow = Selectable<Tables["policies"]>;

export interface NewPolicy {
  readonly projectId: string;
  readonly pattern: string;
  readonly mode: PolicyMode;
  readonly scope: RememberScope;
  readonly scopeId: string | null;
  readonly inputHash: Buffer | null;
  readonly expiresAt: Date | null;
  /** How long a person has to decide on the calls that it holds. */
  readonly approvalMs: number | null;
  readonly createdBy: string;
  /** CONFIG: a configuration file sets it, and the API leaves it. Absent: API. */
  readonly source?: "API" | "CONFIG";
}

export async function insertPolicy(db: Database, policy: NewPolicy): Promise<PolicyRow> {
  return db
    .insertInto("policies")
    .values({
      id: newId(),
      project_id: policy.projectId,
      pattern: policy.pattern,
      mode: policy.mode,
      scope: policy.scope,
      scope_id: policy.scopeId,
      input_hash: policy.inputHash,
      expires_at: policy.expiresAt,
      approval_ms: policy.approvalMs,
      created_by: policy.createdBy,
      source: policy.source ?? "API",
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The project-wide rule for a pattern is one: setting it again replaces it. */
export async function replacePolicy(db: Database, policy: NewPolicy): Promise<PolicyRow> {
  await db
    .deleteFrom("policies")
    .where("project_id", "=", policy.projectId)
    .where("pattern", "=", policy.pattern)
    .where("scope", "=", "PROJECT")
    .where("input_hash", "is", null)
    .execute();
  return insertPolicy(db, policy);
}

/** The project-wide rules for these patterns that hold now. */
export async function listProjectRules(
  db: Database,
  projectId: string,
  patterns: readonly string[],
): Promise<PolicyRow[]> {
  const { rows } = await sql<PolicyRow>`
    select * from policies
    where project_id = ${projectId} and pattern = any(${patterns}::text[]) and scope = 'PROJECT' and input_hash is null
      and (expires_at is null or expires_at > now())
    order by id
  `.execute(db);
  return rows;
}

export async function deletePolicy(db: Database, projectId: string, id: string): Promise<PolicyRow | null> {
  const row = await db
    .deleteFrom("policies")
    .where("id", "=", id)
    .where("project_id", "=", projectId)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** The project-wide rule for a pattern that a configuration file sets, or all such rules. */
export async function listConfiguredPolicies(db: Database, projectId: string, pattern?: string): Promise<PolicyRow[]> {
  return db
    .selectFrom("policies")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("source", "=", "CONFIG")
    .$if(pattern !== undefined, (query) => query.where("pattern", "=", pattern as string))
    .execute();
}

/**
 * Before a change, in its transaction: of two at once the later one judges with the earlier one in force, and no task
 * that is claimed after it is judged by what a worker remembers from before. Calls that are being held meanwhile are
 * found by its time.
 */
export async function beginPolicyChange(tx: Database, projectId: string): Promise<void> {
  await sql`
    update projects set policies_version = policies_version + 1, policies_changed_at = clock_timestamp()
    where id = ${projectId}
  `.execute(tx);
}

/** At the end of a change that took its time: calls were judged as before until its transaction ends. */
export async function notePolicyChange(tx: Database, projectId: string): Promise<void> {
  await sql`update projects set policies_changed_at = clock_timestamp() where id = ${projectId}`.execute(tx);
}

/** Those that hold now, the oldest first. */
export async function listPolicies(db: Database, projectId: string): Promise<PolicyRow[]> {
  const [own] = await listPoliciesOf(db, [projectId]);
  return own?.rows ?? [];
}

type OwnedPolicyRow = PolicyRow & { owner: string; version: number };

function toRow({ owner: _owner, version: _version, ...row }: OwnedPolicyRow): PolicyRow {
  return row;
}

/** Of many projects at once, in the order asked, each with the number of changes that it shows. */
export async function listPoliciesOf(
  db: Database,
  projectIds: readonly string[],
): Promise<{ version: number; rows: PolicyRow[] }[]> {
  const { rows } = await sql<OwnedPolicyRow>`
    ${PREPARED} select o.id as owner, o.policies_version as version, p.* from projects o left join policies p
      on p.project_id = o.id and (p.expires_at is null or p.expires_at > now())
    where o.id = ${oneOf("uuid", projectIds)} order by p.id
  `.execute(db);
  const byOwner = Map.groupBy(rows, (row) => row.owner);
  return projectIds.map((id) => {
    const own = byOwner.get(id) ?? [];
    return { version: own[0]?.version ?? 0, rows: own.filter((row) => row.id !== null).map(toRow) };
  });
}

export function toPolicyRule(row: PolicyRow): PolicyRule {
  return {
    id: row.id,
    pattern: row.pattern,
    mode: row.mode,
    scope: row.scope,
    scopeId: row.scope_id,
    inputHash: row.input_hash?.toString("hex") ?? null,
    expiresAt: row.expires_at,
  };
}
