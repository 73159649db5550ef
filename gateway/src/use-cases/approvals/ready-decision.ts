import type { Caller, Decidable, NewPolicy, Outcome } from "@airlock/shared/db";
import type { ReadyDecision } from "../../decisions.ts";

/** The outcome with its trace in the audit log. */
export function decisionOf(
  caller: Caller,
  row: Decidable,
  decided: Pick<Outcome, "status" | "reason" | "editedInput" | "answer"> & {
    readonly policy: NewPolicy | null;
    /** What the audit log tells beside the decision. */
    readonly about: Readonly<Record<string, unknown>>;
  },
): ReadyDecision {
  const { policy, about, ...outcome } = decided;
  const inputHash = row.input_hash.toString("hex");
  const { kind, path, task_id: taskId, call_index: index } = row;
  const audit = {
    projectId: row.project_id,
    actor: `key:${caller.keyId}`,
    action: "approval.decided",
    subject: row.id,
    data: {
      decision: outcome.status,
      by: caller.keyName,
      reason: outcome.reason,
      kind,
      taskId,
      index,
      path,
      inputHash,
      ...about,
    },
  };
  return {
    projectId: row.project_id,
    outcome: { ...outcome, id: row.id, inputHash, decidedBy: caller.keyName },
    consequence: { approvalId: row.id, audit, policy },
  };
}

/** The row as it is once it took the outcome, without asking for it. */
export function decidedRow(row: Decidable, { outcome }: ReadyDecision, at: Date): Decidable {
  return {
    ...row,
    status: outcome.status,
    decided_at: at,
    decided_by: outcome.decidedBy,
    reason: outcome.reason,
    edited_input: outcome.editedInput ?? row.edited_input,
    answer: outcome.answer,
  };
}
