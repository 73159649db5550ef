import type { GuestLimits, TaskFailure } from "@airlock/shared/domain";

/** How guests fail, in words that name the cause: the same ones in every sandbox. */

export const NEVER_SETTLES: TaskFailure = {
  code: "GUEST_ERROR",
  message: "the program waits for a promise that nothing can settle any more: no timer and no call is pending",
};

export function ranTooLong({ timeoutMs }: Pick<GuestLimits, "timeoutMs">): TaskFailure {
  return { code: "TIMEOUT", message: `the program ran longer than its ${timeoutMs} ms` };
}

export function tookTooMuchMemory({ memoryBytes }: Pick<GuestLimits, "memoryBytes">): TaskFailure {
  return { code: "OUT_OF_MEMORY", message: `the program needs more than its ${memoryBytes} bytes of memory` };
}

export function printedTooMuch({ outputBytes }: Pick<GuestLimits, "outputBytes">): TaskFailure {
  return { code: "OUTPUT_LIMIT", message: `the program printed more than its ${outputBytes} bytes` };
}

/** `bytes` is null where the JSON was too large to be written at all. */
export function returnedTooMuch(bytes: number | null, { resultBytes }: Pick<GuestLimits, "resultBytes">): TaskFailure {
  const returned = bytes === null ? "more JSON than its memory holds" : `${bytes} bytes of JSON`;
  return { code: "OUTPUT_LIMIT", message: `the program returned ${returned}; it may return ${resultBytes} bytes` };
}

/** The glue sends nothing like it: the guest got around it, or it sends more than anyone can hold. */
export function madeBadCall(what: string): TaskFailure {
  return { code: "GUEST_ERROR", message: `the program made a call that cannot be sent: ${what}` };
}
