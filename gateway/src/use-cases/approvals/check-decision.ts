import type { Asked, Caller, Decidable } from "@airlock/shared/db";
import { answerFault, ApiError, type ApprovalKind } from "@airlock/shared/domain";
import type { ReadyDecision } from "../../decisions.ts";
import { notFound } from "../not-found.ts";
import { hashFault, settledFault } from "./conflict.ts";
import { type DecisionInput, isEdited, requestFault } from "./decision-input.ts";
import { decisionOf } from "./ready-decision.ts";
import { rememberedPolicy } from "./remember.ts";

/** An approval within the caller's reach, that can still be decided; or why not. */
export function checkReach(caller: Caller, row: Decidable | null): Decidable | ApiError {
  if (row === null || row.project_id !== caller.projectId) return notFound("approval");
  if (row.submitted_by === caller.keyId && !row.self_approval) {
    return new ApiError("FORBIDDEN", "this key submitted the task itself; another key has to decide about it");
  }
  return settledFault(row) ?? row;
}

/**
 * Everything that can be said about a decision before it meets the approval's row again. `asked` is needed where the
 * input is edited. A refusal is a value: of many decisions each gets its own.
 */
export function checkDecision(
  caller: Caller,
  given: DecisionInput,
  found: Decidable | null,
  asked: Asked | null,
): ReadyDecision | ApiError {
  const fault = requestFault(given);
  if (fault !== null) return fault;
  const row = checkReach(caller, found);
  if (row instanceof ApiError) return row;
  const refusal = kindFault(row.kind, given) ?? hashFault(row, given.inputHash) ?? editFault(given, row, asked);
  if (refusal !== null) return refusal;
  const policy = rememberedPolicy(caller, row, given);
  if (policy instanceof ApiError) return policy;
  return decisionOf(caller, row, {
    status: given.decision === "APPROVE" ? "APPROVED" : "DENIED",
    reason: given.reason ?? null,
    editedInput: isEdited(given) ? JSON.stringify(given.editedInput) : null,
    answer: null,
    policy,
    // Both versions: what was asked for, and what will run.
    about: isEdited(given) ? { askedInput: JSON.parse(asked?.input ?? "null"), editedInput: given.editedInput } : {},
  });
}

function kindFault(kind: ApprovalKind, given: DecisionInput): ApiError | null {
  if (isEdited(given) && kind !== "TOOL_CALL") {
    return new ApiError("BAD_INPUT", `editedInput: goes with a tool call; this is a ${kind}`);
  }
  if (given.decision === "APPROVE" && (kind === "QUESTION" || kind === "UNKNOWN_OUTCOME")) {
    return new ApiError("BAD_INPUT", `decision: a ${kind} is answered with answerQuestion, or denied`);
  }
  return null;
}

/** The worker checks again, and fills in defaults, with the schema itself. */
function editFault(given: DecisionInput, row: Decidable, asked: Asked | null): ApiError | null {
  if (!isEdited(given)) return null;
  const schema = asked?.inputSchema ?? null;
  if (schema === null) {
    return new ApiError(
      "BAD_INPUT",
      `editedInput: the schema of ${row.path} that was asked with is not known any more`,
    );
  }
  const fault = answerFault(JSON.parse(schema), given.editedInput);
  return fault === null ? null : new ApiError("BAD_INPUT", `editedInput: does not fit ${row.path}: ${fault}`);
}
