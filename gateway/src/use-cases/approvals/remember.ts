import type { Caller, Decidable, NewPolicy } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import { hasScope, lacksScope } from "../../require-scope.ts";
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

function refuse(message: string): ApiError {
  return new ApiError("BAD_INPUT", `remember: ${message}`);
}
