import { isId } from "@airlock/shared/contracts";
import {
  audit,
  type Caller,
  type Database,
  deletePolicy,
  listConfiguredPolicies,
  beginPolicyChange,
  type PolicyRow,
  rejudge,
  replacePolicy,
  retryDeadlocks,
} from "@airlock/shared/db";
import { patternFault, type PolicyMode } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { announceRejudged } from "./approvals/rejudge.ts";
import { configOwned } from "./config-owned.ts";
import { Faults } from "./faults.ts";
import { notFound } from "./not-found.ts";

export interface PolicyInput {
  readonly pattern: string;
  readonly mode: PolicyMode;
  readonly expiresAt?: Date | null | undefined;
  readonly approvalMs?: number | null | undefined;
}

/** The project's rule for a pattern: setting it again replaces it. Calls that wait already are judged anew. */
export async function setToolPolicy(app: App, caller: Caller, given: PolicyInput): Promise<PolicyRow> {
  checkPolicy(given);
  const { pattern, mode } = given;
  const [expiresAt, approvalMs] = [given.expiresAt ?? null, given.approvalMs ?? null];
  const { projectId, keyName: createdBy } = caller;
  return changePolicies(app, caller, "tool_policy.set", async (tx) => {
    const configured = await listConfiguredPolicies(tx, projectId, pattern);
    if (configured.length > 0) throw configOwned(`the policy for ${pattern}`);
    return replacePolicy(tx, {
      projectId,
      pattern,
      mode,
      scope: "PROJECT",
      scopeId: null,
      inputHash: null,
      expiresAt,
      approvalMs,
      createdBy,
    });
  });
}

export async function removeToolPolicy(app: App, caller: Caller, id: string): Promise<boolean> {
  if (!isId(id)) throw notFound("policy");
  await changePolicies(app, caller, "tool_policy.removed", async (tx) => {
    const removed = await deletePolicy(tx, caller.projectId, id);
    if (removed === null) throw notFound("policy");
    if (removed.source === "CONFIG") throw configOwned(`the policy for ${removed.pattern}`);
    return removed;
  });
  return true;
}

function checkPolicy({ pattern, expiresAt, approvalMs }: PolicyInput): void {
  const faults = new Faults();
  const fault = patternFault(pattern);
  if (fault !== null) faults.add("pattern", fault);
  if (expiresAt && expiresAt.getTime() <= Date.now()) faults.add("expiresAt", "is in the past; it would never hold");
  if (typeof approvalMs === "number" && approvalMs < 1)
    faults.add("approvalMs", `is ${approvalMs}; at least 1 is needed`);
  faults.throwIfAny();
}

/** The change, its trace and what it does to waiting calls are one. */
async function changePolicies(
  app: App,
  caller: Caller,
  action: string,
  change: (tx: Database) => Promise<PolicyRow>,
): Promise<PolicyRow> {
  const { projectId } = caller;
  const { policy, rejudged } = await retryDeadlocks(() =>
    app.db.transaction().execute(async (tx) => {
      await beginPolicyChange(tx, projectId);
      const policy = await change(tx);
      const rejudged = await rejudge(tx, projectId, [policy.pattern]);
      const superseded = rejudged.reduce((sum, { ids }) => sum + ids.size, 0);
      const { pattern, mode, scope, expires_at: expiresAt, approval_ms: approvalMs } = policy;
      const data = { pattern, mode, scope, expiresAt, approvalMs, superseded };
      await audit(tx, { projectId, actor: `key:${caller.keyId}`, action, subject: policy.id, data });
      return { policy, rejudged };
    }),
  );
  announceRejudged(app.announcer, projectId, rejudged);
  return policy;
}
