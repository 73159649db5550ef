import { CALL_LIMITS, TASK_ERRORS, type TaskErrorCode } from "@airlock/shared/domain";
import { isHandedOn } from "../runner/running-segments.ts";
import type { CallResult } from "../sandboxes/port.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import { ToolError } from "../tools/tool-error.ts";

/** An answer that the journal does not take. */
export class TooLarge extends ToolError {
  readonly tool: Tool;
  readonly text: string;
  constructor(tool: Tool, text: string, bytes: number) {
    super(`${tool.path} answered ${bytes} bytes of JSON; a result has at most ${CALL_LIMITS.outputBytes}`);
    this.tool = tool;
    this.text = text;
  }
}

/**
 * Runs a tool within its time. Never throws: a failure is the call's result. Null: the segment was stopped and the task
 * goes on in another, which has to find out what became of the call.
 */
export async function runTool(
  tool: Tool,
  context: Omit<ToolContext, "signal">,
  input: unknown,
  stop: AbortSignal,
): Promise<CallResult | TooLarge | null> {
  const expiry = new AbortController();
  const timer = setTimeout(() => expiry.abort(), tool.timeoutMs);
  try {
    const signal = AbortSignal.any([stop, expiry.signal]);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(stop.aborted ? new ToolError("the task was stopped") : late(tool)));
    });
    aborted.catch(() => undefined);
    return resultOf(tool, await Promise.race([tool.run({ ...context, signal }, input), aborted]));
  } catch (error) {
    return isHandedOn(stop) ? null : failureOf(error);
  } finally {
    clearTimeout(timer);
  }
}

function late({ path, timeoutMs }: Tool): ToolError {
  return new ToolError(`${path} took longer than its ${timeoutMs} ms`, "TOOL_TIMEOUT");
}

export function resultOf(tool: Tool, answer: unknown): CallResult | TooLarge {
  const text = (JSON.stringify(answer) as string | undefined) ?? null;
  const bytes = text === null ? 0 : Buffer.byteLength(text);
  return text !== null && bytes > CALL_LIMITS.outputBytes ? new TooLarge(tool, text, bytes) : { ok: true, value: text };
}

export function failureOf(error: unknown): { ok: false; code: TaskErrorCode; message: string } {
  // Not by class: a plugin may bring a copy of its own.
  const { code: given } = (error ?? {}) as { code?: unknown };
  const code =
    typeof given === "string" && Object.hasOwn(TASK_ERRORS, given) ? (given as TaskErrorCode) : "TOOL_FAILED";
  const message = error instanceof Error ? error.message : String(error);
  return { ok: false, code, message: message === "" ? "the tool failed without saying why" : message };
}
