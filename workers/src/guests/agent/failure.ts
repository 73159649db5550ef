import { inspect } from "node:util";
import type { Errors } from "../javascript/errors.ts";
import type { Intrinsics } from "../javascript/intrinsics.ts";

const MESSAGE_CHARS = 8 * 1024;
const STACK_CHARS = 32 * 1024;

export interface Failure {
  readonly kind: "failed";
  readonly code: string;
  readonly message: string;
  readonly stack: string | null;
  readonly exitCode: number | null;
}

export function failure(message: string, exitCode: number | null = null): Failure {
  return { kind: "failed", code: "GUEST_ERROR", message: cut(message, MESSAGE_CHARS), stack: null, exitCode };
}

/** What a person is told about a thrown value. */
export function describeThrown(I: Intrinsics, errors: Errors, thrown: unknown, prefix = ""): Failure {
  try {
    if (!errors.isError(thrown)) return failure(`${prefix}the program threw ${inspect(thrown)}`);
    const message = prefix + errors.head(thrown);
    const frames = framesOf(errors.text(thrown, "stack"));
    const code = I.weakMapGet<string | undefined>(I.toolErrors, thrown) ?? "GUEST_ERROR";
    const stack = frames.includes("task.") ? cut(`${message}\n${frames}`, STACK_CHARS) : null;
    return { ...failure(message), code, stack };
  } catch {
    return failure(`${prefix}the program threw a value that cannot be looked at`);
  }
}

/** The author's frames. A syntax error has its place in front of its name, and no frame of its own. */
function framesOf(stack: string): string {
  const place = /^(task\.[jt]s:\d+)\n/.exec(stack)?.[1];
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line) && !/node:|agent\.c?js/.test(line));
  return (place === undefined ? frames : [`    at ${place}`, ...frames]).join("\n");
}

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}… (${text.length} characters)`;
}
