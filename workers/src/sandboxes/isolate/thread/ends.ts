import type { GuestLimits, TaskErrorCode, TaskFailure } from "@airlock/shared/domain";
import type { Box, Machine } from "../engine/machine.ts";
import { tookTooMuchMemory } from "../../rules/failures.ts";
import { isCallError } from "../../rules/guest-errors.ts";
import type { GuestEnd } from "../messages.ts";

/** The ends that a guest can come to, in words that name the cause. */

export const MEMORY_FOR_LAST_WORDS = 1024 * 1024;
const MAX_MESSAGE_CHARS = 8 * 1024;
const MAX_STACK_CHARS = 32 * 1024;

/** The second is a string beyond 2^30 characters: doubled without end, it has not yet been allocated. */
const NO_MEMORY = new Set(["InternalError: out of memory", "InternalError: string too long"]);

/** As an end of a guest in here. */
export function failedEnd({ code, message }: TaskFailure): GuestEnd {
  return { kind: "failed", code, message };
}

/** A fault inside the engine itself: this guest's machine is broken, nothing else is. */
export function trapEnd(error: unknown, machine: Machine, limits: GuestLimits): GuestEnd {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RangeError && message.includes("call stack")) {
    return { kind: "failed", code: "GUEST_ERROR", message: "RangeError: the program recursed too deeply" };
  }
  if (machine.memoryBytes >= limits.memoryBytes || message === "no memory for text")
    return failedEnd(tookTooMuchMemory(limits));
  return { kind: "failed", code: "SANDBOX_FAILED", message: `the engine broke under the program: ${message}` };
}

/** What the guest threw, told by the glue inside of the guest's own VM. */
export function describeThrown(machine: Machine, thrown: Box, prefix: string, limits: GuestLimits): GuestEnd {
  const text = machine.callGlue("describe", thrown);
  const told = machine.isException(text) ? null : parseTold(machine.readString(text));
  if (told === null) {
    if (machine.memoryBytes >= limits.memoryBytes) return failedEnd(tookTooMuchMemory(limits));
    return { kind: "failed", code: "GUEST_ERROR", message: `${prefix}the program threw something that cannot be told` };
  }
  if (told.name === "InternalError" && NO_MEMORY.has(told.message)) return failedEnd(tookTooMuchMemory(limits));
  const message = cut(prefix + told.message, MAX_MESSAGE_CHARS);
  const code = codeOf(told);
  if (told.stack?.includes("task.") !== true) return { kind: "failed", code, message };
  const stack = cut(`${told.message}\n${told.stack}`, MAX_STACK_CHARS);
  return { kind: "failed", code, message, stack };
}

/** A call's failure that nobody caught is the task's own. */
function codeOf({ code }: Told): TaskErrorCode {
  if (code === undefined) return "GUEST_ERROR";
  return isCallError(code) ? code : "TOOL_FAILED";
}

interface Told {
  readonly name?: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: TaskErrorCode;
}

function parseTold(text: string | null): Told | null {
  return text === null ? null : (JSON.parse(text) as Told);
}

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}… (${text.length} characters)`;
}
