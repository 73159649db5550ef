import type { Config } from "@airlock/shared/config";
import { type Database, deletePolicy, listConfiguredPolicies, type PolicyRow, replacePolicy } from "@airlock/shared/db";
import type { PolicyMode } from "@airlock/shared/domain";
import { type Change, CONFIG_ACTOR } from "./change.ts";

/** `patterns` are those whose rule has changed: calls that wait are judged anew. */
export async function applyPolicies(
  tx: Database,
  projectId: string,
  config: Config,
): Promise<{ changes: Change[]; patterns: string[] }> {
  const known = new Map((await listConfiguredPolicies(tx, projectId)).map((row) => [row.pattern, row]));
  const changed: Change[] = [];
  const patterns: string[] = [];
  for (const [pattern, given] of Object.entries(config.policies)) {
    const { mode, approvalMs } = typeof given === "string" ? { mode: given, approvalMs: null } : given;
    const row = known.get(pattern);
    known.delete(pattern);
    if (row && isSame(row, mode, approvalMs)) continue;
    const written = await replacePolicy(tx, {
      projectId,
      pattern,
      mode,
      scope: "PROJECT",
      scopeId: null,
      inputHash: null,
      expiresAt: null,
      approvalMs,
      createdBy: CONFIG_ACTOR,
      source: "CONFIG",
    });
    patterns.push(pattern);
    changed.push(told("tool_policy.set", written));
  }
  for (const row of known.values()) {
    await deletePolicy(tx, projectId, row.id);
    patterns.push(row.pattern);
    changed.push(told("tool_policy.removed", row));
  }
  return { changes: changed, patterns };
}

function isSame(row: PolicyRow, mode: PolicyMode, approvalMs: number | null): boolean {
  return row.mode === mode && row.approval_ms === approvalMs;
}

function told(action: string, { id, pattern, mode, approval_ms: approvalMs }: PolicyRow): Change {
  return { action, subject: id, data: { pattern, mode, approvalMs, by: CONFIG_ACTOR } };
}
