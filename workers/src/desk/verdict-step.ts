import type { Verdict } from "@airlock/shared/db";
import { assertNever, SUPERSEDED } from "@airlock/shared/domain";
import type { CallResult } from "../sandboxes/port.ts";
import type { OpenCall } from "./open-call.ts";

/** What a held call does next. */
export type Step =
  | { readonly kind: "wait" }
  | { readonly kind: "complete"; readonly result: CallResult }
  | { readonly kind: "judge" }
  | { readonly kind: "run" };

const fail = (code: "APPROVAL_DENIED" | "APPROVAL_EXPIRED" | "CALL_OUTCOME_UNKNOWN", message: string): Step => ({
  kind: "complete",
  result: { ok: false, code, message },
});

/** Follows from what became of the question to a person, and from the clock for a sleep. */
export function verdictStep({ path, verdict, wakeAt }: OpenCall, now: number): Step {
  if (wakeAt !== null) return wakeAt > now ? { kind: "wait" } : { kind: "complete", result: { ok: true, value: null } };
  if (verdict === null) return { kind: "judge" };
  if (verdict.status === "PENDING") return { kind: "wait" };
  if (verdict.kind === "UNKNOWN_OUTCOME") return outcomeStep(path, verdict);
  switch (verdict.status) {
    case "DENIED":
      return fail("APPROVAL_DENIED", `${path} was denied${byWhom(verdict)}`);
    case "EXPIRED":
      return fail("APPROVAL_EXPIRED", `nobody decided about ${path} in time`);
    case "CANCELLED":
      if (verdict.reason === SUPERSEDED) return { kind: "judge" };
      return fail("APPROVAL_DENIED", `the approval of ${path} was cancelled`);
    case "APPROVED":
      return approved(verdict);
    default:
      return assertNever(verdict.status);
  }
}

function approved({ kind, answer }: Verdict): Step {
  if (kind === "TOOL_CALL") return { kind: "run" };
  if (kind === "QUESTION") return { kind: "complete", result: { ok: true, value: answer } };
  return { kind: "judge" };
}

/** A person has found out what became of a call whose worker was lost; or has not, and then nobody knows. */
function outcomeStep(path: string, verdict: Verdict): Step {
  const said = verdict.status === "APPROVED" ? verdict.answer : null;
  const { outcome, result } = JSON.parse(said ?? "{}") as { outcome?: string; result?: unknown };
  if (outcome === "did_not") return { kind: "run" };
  if (outcome === "happened") {
    const value: string | undefined = JSON.stringify(result);
    return { kind: "complete", result: { ok: true, value: value ?? null } };
  }
  if (verdict.status === "EXPIRED") {
    return fail("CALL_OUTCOME_UNKNOWN", `nobody said in time whether ${path} took effect`);
  }
  const denied = verdict.status === "DENIED" ? `; the question was denied${byWhom(verdict)}` : "";
  return fail("CALL_OUTCOME_UNKNOWN", `it is not known whether ${path} took effect${denied}`);
}

function byWhom({ decidedBy, reason }: Verdict): string {
  return `${decidedBy === null ? "" : ` by ${decidedBy}`}${reason === null ? "" : `: ${reason}`}`;
}
