import { type Caller, type Database, type Decidable, listProjectRules, type NewPolicy } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { ReadyDecision } from "../../decisions.ts";
import { hasScope, lacksScope } from "../../require-scope.ts";
import { configOwned } from "../config-owned.ts";
import type { DecisionInput } from "./decision-input.ts";

/** The policy that keeps the same call from being asked about again; null where nothing is to be remembered. */
export function rememberedPolicy(caller: Caller, row: Decidable, given: DecisionInput): NewPolicy | ApiError | null {
  const { remember } = given;
  if (remember === null || remember === undefined) return null;
  if (row.kind !== "TOOL_CALL") return refuse(`only a decision about a tool call can be remembered, not a ${row.kind}`);
  if (remember === "PROJECT" && !hasScope(caller, "admin")) return lacksScope("admin");
  if (remember === "SESSION" && row.session === null) return refuse("the task is in no session; use TASK or PROJECT");
  return {
    projectId: row.project_id,
    pattern: row.path,
    mode: given.decision === "APPROVE" ? "AUTO" : "DENY",
    scope: remember,
    scopeId: { TASK: row.task_id, SESSION: row.session, PROJECT: null }[remember],
    inputHash: given.rememberAnyInput === true ? null : row.input_hash,
    expiresAt: null,
    approvalMs: null,
    createdBy: caller.keyName,
  };
}

/**
 * Decisions that are to be remembered for every call of a tool, and cannot be: the rule for it would stay, or win, and
 * nobody would know. In the transaction of the decision, under the lock of policies, where the answer must hold.
 */
export async function rememberFaults(
  db: Database,
  decisions: readonly ReadyDecision[],
): Promise<Map<ReadyDecision, ApiError>> {
  const faults = new Map<ReadyDecision, ApiError>();
  const everywhere = decisions.filter(({ consequence: { policy } }) => policy !== null && isEverywhere(policy));
  const [first] = everywhere;
  if (first === undefined) return faults;
  const patterns = everywhere.map(({ consequence }) => consequence.policy?.pattern ?? "");
  const rules = Map.groupBy(await listProjectRules(db, first.projectId, patterns), (rule) => rule.pattern);
  for (const decision of everywhere) {
    const { pattern, mode } = decision.consequence.policy as NewPolicy;
    const standing = rules.get(pattern) ?? [];
    if (standing.some(({ source }) => source === "CONFIG")) {
      faults.set(decision, configOwned(`remember: the policy for ${pattern}`));
    } else if (mode !== "DENY" && standing.some((rule) => rule.mode === "DENY")) {
      faults.set(
        decision,
        new ApiError("CONFLICT", `remember: a policy of the project denies ${pattern}; change it first`),
      );
    }
  }
  return faults;
}

function isEverywhere({ scope, inputHash }: NewPolicy): boolean {
  return scope === "PROJECT" && inputHash === null;
}

function refuse(message: string): ApiError {
  return new ApiError("BAD_INPUT", `remember: ${message}`);
}
