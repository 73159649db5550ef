import type { TaskErrorCode } from "@airlock/shared/domain";

/** A failure whose code and message the guest sees. Anything else that a tool throws is a TOOL_FAILED as well. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: TaskErrorCode;
  constructor(message: string, code: TaskErrorCode = "TOOL_FAILED") {
    super(message);
    this.code = code;
  }
}
