import { sql } from "kysely";
import { audit } from "../audit-log.ts";
import type { Database } from "../database.ts";
import { retryDeadlocks } from "../deadlock.ts";
import { beginPolicyChange } from "../policies.ts";
import { rejudge } from "./rejudge.ts";
import type { Settled } from "./settle.ts";

/** Of one sweep; the next takes more. */
const MAX_PROJECTS = 100;

/**
 * A policy that lapses is a change like any other: it goes, with a trace in the audit log, and calls that it held are
 * judged anew. What was settled, for whoever has to tell.
 */
export async function endLapsedPolicies(db: Database): Promise<Settled[]> {
  const { rows } = await sql<{ projectId: string }>`
    select distinct project_id as "projectId" from policies where expires_at <= now() limit ${MAX_PROJECTS}
  `.execute(db);
  const settled: Settled[] = [];
  for (const { projectId } of rows) {
    const rejudged = await retryDeadlocks(() => db.transaction().execute((tx) => endLapsedOf(tx, projectId)));
    settled.push(...rejudged);
  }
  return settled;
}

async function endLapsedOf(tx: Database, projectId: string): Promise<Settled[]> {
  await beginPolicyChange(tx, projectId);
  const lapsed = await tx
    .deleteFrom("policies")
    .where("project_id", "=", projectId)
    .where("expires_at", "<=", sql<Date>`now()`)
    .returningAll()
    .execute();
  for (const { id, pattern, mode, scope, expires_at: expiresAt } of lapsed) {
    const data = { pattern, mode, scope, expiresAt };
    await audit(tx, { projectId, actor: "system", action: "tool_policy.lapsed", subject: id, data });
  }
  return rejudge(
    tx,
    projectId,
    lapsed.map(({ pattern }) => pattern),
  );
}
