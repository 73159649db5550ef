import type { ApprovalKind } from "@airlock/shared/domain";
import type { CallResult } from "../sandboxes/port.ts";

const NEVER_AGAIN = "this task said that it is never run again (replayable: false)";

const ADVICE: Readonly<Record<ApprovalKind, string>> = {
  TOOL_CALL: "let a policy allow it",
  QUESTION: "give it the answer as input",
  BUDGET: "raise its maxToolCalls",
  EGRESS: "do without",
  UNKNOWN_OUTCOME: "find out whether it took effect",
};

/** What a person would have to decide: waiting means parking, and whoever parks is run again. */
export function cannotWait(path: string, kind: ApprovalKind): CallResult {
  const beyond = kind === "BUDGET" ? " beyond maxToolCalls" : "";
  return denied(
    `${path}${beyond} needs a person, and ${NEVER_AGAIN}: ${ADVICE[kind]}, or submit the task without that`,
  );
}

export function cannotSleep(path: string): CallResult {
  return denied(`${path} would park the task, and ${NEVER_AGAIN}: wait with a timer, or submit the task without that`);
}

function denied(message: string): CallResult {
  return { ok: false, code: "TOOL_DENIED", message };
}
