import type { TaskErrorCode } from "@airlock/shared/domain";

/** How a call can fail, and with it a guest that does not catch it. A tool that says otherwise has TOOL_FAILED. */
const CALL_ERRORS: ReadonlySet<string> = new Set<TaskErrorCode>([
  "TOOL_FAILED",
  "TOOL_DENIED",
  "TOOL_TIMEOUT",
  "UNKNOWN_TOOL",
  "BAD_TOOL_INPUT",
  "APPROVAL_DENIED",
  "APPROVAL_EXPIRED",
  "CALL_OUTCOME_UNKNOWN",
]);

/** How a guest can fail by itself, by its limits, or with its sandbox. */
const OWN_ERRORS: ReadonlySet<string> = new Set<TaskErrorCode>([
  "GUEST_ERROR",
  "TIMEOUT",
  "OUT_OF_MEMORY",
  "OUTPUT_LIMIT",
  "SANDBOX_FAILED",
]);

export function isCallError(code: string): boolean {
  return CALL_ERRORS.has(code);
}

/** All other failures of a task are the worker's to tell. */
export function isGuestError(code: string): boolean {
  return OWN_ERRORS.has(code) || CALL_ERRORS.has(code);
}

/** How an agent may say that its program failed: time, memory of the sandbox and the sandbox are not its to judge. */
export function isAgentError(code: string): boolean {
  return code === "GUEST_ERROR" || code === "OUT_OF_MEMORY" || code === "OUTPUT_LIMIT" || CALL_ERRORS.has(code);
}
