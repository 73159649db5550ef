import { type RawBuilder, sql } from "kysely";
import { newId } from "../../contracts/index.ts";
import type { AuditEntry } from "../audit-log.ts";
import type { NewPolicy } from "../policies.ts";

/** What is stored beside an approval's outcome, in the same statement and only if the approval takes it. */
export interface Consequence {
  readonly approvalId: string;
  readonly audit: AuditEntry;
  /** The decision holds for later calls too. One that is there already is not stored again. */
  readonly policy: NewPolicy | null;
}

/** Parts of the statement that settles approvals; they hang on its part `settled`. */
export function consequenceParts(consequences: readonly Consequence[]): RawBuilder<unknown> {
  if (consequences.length === 0) return sql``;
  const policies = consequences.flatMap(({ approvalId, audit, policy }) =>
    policy === null ? [] : [{ ...policy, approvalId, actor: audit.actor, id: newId(), auditId: newId() }],
  );
  return sql`${auditDecisions(consequences)}${policies.length > 0 ? insertPolicies(policies) : sql``}`;
}

function auditDecisions(consequences: readonly Consequence[]): RawBuilder<unknown> {
  const audits = consequences.map((consequence) => consequence.audit);
  return sql`, audited as (
    insert into audit_log (id, project_id, actor, action, subject, data)
    select a.id, a.project_id, a.actor, a.action, a.subject, a.data
    from unnest(
      ${consequences.map((consequence) => consequence.approvalId)}::uuid[], ${audits.map(() => newId())}::uuid[],
      ${audits.map((audit) => audit.projectId)}::uuid[], ${audits.map((audit) => audit.actor)}::text[],
      ${audits.map((audit) => audit.action)}::text[], ${audits.map((audit) => audit.subject)}::text[],
      ${audits.map((audit) => JSON.stringify(audit.data ?? {}))}::text[]
    ) as a (approval_id, id, project_id, actor, action, subject, data) where ${isSettled("a")}
  )`;
}

/** `is true` keeps it a look into a hash table: a join would compare each with each, expecting few. */
function isSettled(part: "a" | "r"): RawBuilder<unknown> {
  return sql`(${sql.ref(`${part}.approval_id`)} in (select id from settled)) is true`;
}

interface Remembered extends NewPolicy {
  readonly id: string;
  readonly auditId: string;
  readonly approvalId: string;
  readonly actor: string;
}

/**
 * One that a thousand decisions ask for alike is stored, and audited, once. The project's rule for a pattern is one, as
 * where an operator sets it: it is replaced, but for what a decision cannot change (a file's rule, a denial).
 */
function insertPolicies(policies: readonly Remembered[]): RawBuilder<unknown> {
  const column = <K extends keyof Remembered>(key: K) => policies.map((policy) => policy[key]);
  return sql`, wanted as (
    select distinct on (r.project_id, r.pattern, r.mode, r.scope, r.scope_id, r.input_hash) r.*
    from unnest(
      ${column("approvalId")}::uuid[], ${column("actor")}::text[], ${column("id")}::uuid[], ${column("auditId")}::uuid[],
      ${column("projectId")}::uuid[], ${column("pattern")}::text[], ${column("mode")}::text[],
      ${column("scope")}::text[], ${column("scopeId")}::text[], ${column("inputHash")}::bytea[],
      ${column("expiresAt")}::timestamptz[], ${column("approvalMs")}::bigint[], ${column("createdBy")}::text[]
    ) as r (
      approval_id, actor, id, audit_id, project_id, pattern, mode, scope, scope_id, input_hash, expires_at,
      approval_ms, created_by
    ) where ${isSettled("r")} and not exists (
      select from policies o
      where not (r.scope = 'PROJECT' and r.input_hash is null) and o.project_id = r.project_id and o.pattern = r.pattern and o.mode = r.mode and o.scope = r.scope
        and o.scope_id is not distinct from r.scope_id and o.input_hash is not distinct from r.input_hash
        and o.expires_at is not distinct from r.expires_at
    )
  ), replaced as (
    delete from policies o using wanted r
    where r.scope = 'PROJECT' and r.input_hash is null and o.project_id = r.project_id and o.pattern = r.pattern
      and o.scope = 'PROJECT' and o.input_hash is null and o.source = 'API' and (o.mode <> 'DENY' or r.mode = 'DENY')
  ), remembered as (
    insert into policies (
      id, project_id, pattern, mode, scope, scope_id, input_hash, expires_at, approval_ms, created_by
    )
    select id, project_id, pattern, mode, scope, scope_id, input_hash, expires_at, approval_ms, created_by from wanted
  ), policies_audited as (
    insert into audit_log (id, project_id, actor, action, subject, data)
    select audit_id, project_id, actor, 'tool_policy.remembered', id::text, json_build_object(
      'approvalId', approval_id, 'pattern', pattern, 'mode', mode, 'scope', scope, 'scopeId', scope_id,
      'inputHash', encode(input_hash, 'hex')
    )::text from wanted
  )`;
}
