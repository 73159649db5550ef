import { assertNever, SUPERSEDED } from "@airlock/shared/domain";
import type { CallResult } from "../sandboxes/port.ts";
import type { OpenCall } from "./open-call.ts";

/** What a held call does next. */
export type Step =
  | { readonly kind: "wait" }
  | { readonly kind: "complete"; readonly result: CallResult }
  | { readonly kind: "judge" }
  /** Runs with this input in place of the asked one, where it is given. */
  | { readonly kind: "run"; readonly input: string | null };

const fail = (code: "APPROVAL_DENIED" | "APPROVAL_EXPIRED" | "CALL_OUTCOME_UNKNOWN", message: string): Step => ({
  kind: "complete",
  result: { ok: false, code, message },
});

/** Follows from what became of the question to a person, and from the clock for a sleep. */
export function verdictStep({ path, verdict, wakeAt }: OpenCall, now: number): Step {
  if (wakeAt !== null) return wakeAt > now ? { kind: "wait" } : { kind: "complete", result: { ok: true, value: null } };
  if (verdict === null) return { kind: "judge" };
  switch (verdict.status) {
    case "PENDING":
      return { kind: "wait" };
    case "DENIED": {
      const by = verdict.decidedBy === null ? "" : ` by ${verdict.decidedBy}`;
      return fail("APPROVAL_DENIED", `${path} was denied${by}${verdict.reason === null ? "" : `: ${verdict.reason}`}`);
    }
    case "EXPIRED":
      if (verdict.kind === "UNKNOWN_OUTCOME") {
        return fail("CALL_OUTCOME_UNKNOWN", `nobody said in time whether ${path} took effect`);
      }
      return fail("APPROVAL_EXPIRED", `nobody decided about ${path} in time`);
    case "CANCELLED":
      if (verdict.reason === SUPERSEDED) return { kind: "judge" };
      return fail("APPROVAL_DENIED", `the approval of ${path} was cancelled`);
    case "APPROVED":
      return approved(path, verdict.kind, verdict);
    default:
      return assertNever(verdict.status);
  }
}

function approved(path: string, kind: string, verdict: { editedInput: string | null; answer: string | null }): Step {
  switch (kind) {
    case "TOOL_CALL":
      return { kind: "run", input: verdict.editedInput };
    case "QUESTION":
      return { kind: "complete", result: { ok: true, value: verdict.answer } };
    case "UNKNOWN_OUTCOME":
      return knownOutcome(path, verdict.answer);
    default:
      return { kind: "judge" };
  }
}

/** A person has found out what became of a call whose worker was lost. */
function knownOutcome(path: string, answer: string | null): Step {
  const { outcome, result } = JSON.parse(answer ?? "{}") as { outcome?: string; result?: unknown };
  if (outcome === "did_not") return { kind: "run", input: null };
  if (outcome === "happened") {
    const value: string | undefined = JSON.stringify(result);
    return { kind: "complete", result: { ok: true, value: value ?? null } };
  }
  return fail("CALL_OUTCOME_UNKNOWN", `it is not known whether ${path} took effect`);
}
