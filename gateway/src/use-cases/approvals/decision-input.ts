import {
  ApiError,
  DECISION_LIMITS,
  type Decision,
  type RememberScope,
  SUBMISSION_LIMITS,
} from "@airlock/shared/domain";
import { unstorable } from "../texts.ts";

/** As it comes over the API; null counts as absent. */
export interface DecisionInput {
  readonly id: string;
  readonly decision: Decision;
  readonly inputHash: string;
  readonly reason?: string | null | undefined;
  readonly editedInput?: unknown;
  readonly remember?: RememberScope | null | undefined;
  readonly rememberAnyInput?: boolean | null | undefined;
}

export function isEdited(given: DecisionInput): boolean {
  return given.editedInput !== undefined && given.editedInput !== null;
}

/** What is wrong with a decision whatever it is about, or null. */
export function requestFault(given: DecisionInput): ApiError | null {
  const fault = reasonFault(given.reason);
  if (fault !== null) return fault;
  if (!isEdited(given)) return null;
  if (given.decision === "DENY") {
    return new ApiError("BAD_INPUT", "editedInput: goes with APPROVE; a denied call runs with no input at all");
  }
  if (given.remember && given.rememberAnyInput !== true) {
    return new ApiError(
      "BAD_INPUT",
      "remember: the asked input was not approved but edited; leave it out, or set rememberAnyInput",
    );
  }
  return tooLong("editedInput", given.editedInput);
}

export function reasonFault(reason: string | null | undefined): ApiError | null {
  if (reason === null || reason === undefined) return null;
  const { reasonChars } = DECISION_LIMITS;
  const fault =
    reason.length > reasonChars
      ? `has ${reason.length} characters; at most ${reasonChars} are allowed`
      : unstorable(reason);
  return fault === null ? null : new ApiError("BAD_INPUT", `reason: ${fault}`);
}

export function tooLong(field: string, json: unknown): ApiError | null {
  const bytes = Buffer.byteLength(JSON.stringify(json));
  const limit = SUBMISSION_LIMITS.inputBytes;
  if (bytes <= limit) return null;
  return new ApiError("TOO_LARGE", `${field}: has ${bytes} bytes as JSON; at most ${limit} are allowed`);
}
