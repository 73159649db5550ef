import { CALL_INPUT_CHARS, CALL_PATH_CHARS } from "../../guests/javascript/call-limits.ts";
import { isGuestError } from "../rules/guest-errors.ts";
import type { CallTuple, FromHost, GuestEnd, OutputMessage } from "./messages.ts";

/** Checks a message of a host process that a guest may have taken over; throws where it is not one of ours. */
export function readFromHost(value: unknown): FromHost {
  const message = value as FromHost;
  if (typeof message !== "object" || message === null) throw new Error("not a message");
  switch (message.type) {
    case "ready":
      if (typeof message.image !== "string") throw new Error("a bad ready message");
      for (const list of [message.environment, message.network, message.files]) {
        if (!Array.isArray(list)) throw new Error("a bad ready message");
      }
      return message;
    case "output":
      checkSaid(message);
      return message;
    case "turn":
      checkSaid(message);
      if (!isCount(message.turn) || typeof message.waits !== "boolean") throw new Error("a bad turn");
      for (const time of [message.timerMs, message.timerAt]) {
        if (time !== null && typeof time !== "number") throw new Error("a bad timer");
      }
      return message;
    case "end":
      checkSaid(message);
      checkEnd(message.end);
      if (!isCount(message.dropped)) throw new Error("a bad count of bytes");
      return message;
    default:
      throw new Error("a message of no known type");
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** One that a Date can hold. */
function isTime(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= 8.64e15;
}

function isText(value: unknown, chars: number): boolean {
  return typeof value === "string" && value.length <= chars;
}

function checkSaid(message: Omit<OutputMessage, "type">): void {
  if (!isCount(message.id) || !Array.isArray(message.chunks) || !Array.isArray(message.calls)) {
    throw new Error("a bad output message");
  }
  for (const chunk of message.chunks) {
    const good = Array.isArray(chunk) && (chunk[0] === 1 || chunk[0] === 2) && typeof chunk[1] === "string";
    if (!good) throw new Error("a bad piece of output");
  }
  for (const call of message.calls as CallTuple[]) {
    const good =
      Array.isArray(call) &&
      isCount(call[0]) &&
      isText(call[1], CALL_PATH_CHARS) &&
      isText(call[2], CALL_INPUT_CHARS) &&
      isCount(call[3]) &&
      isTime(call[4]);
    if (!good) throw new Error("a bad call");
  }
}

function checkEnd(end: GuestEnd): void {
  switch (end?.kind) {
    case "returned":
      if (end.output === null) return;
      if (typeof end.output !== "string") throw new Error("a bad result");
      // Whoever reads the task's output relies on it; throws.
      JSON.parse(end.output);
      return;
    case "failed":
      if (!isGuestError(end.code) || typeof end.message !== "string") throw new Error("a bad failure");
      if (end.stack !== undefined && typeof end.stack !== "string") throw new Error("a bad stack");
      return;
    case "parked":
      if (typeof end.state !== "string") throw new Error("a bad state");
      return;
    case "cancelled":
      return;
    case "lost":
      if (typeof end.reason !== "string") throw new Error("a bad reason");
      return;
    default:
      throw new Error("an end of no known kind");
  }
}
