import { TASK_ERRORS } from "@airlock/shared/domain";
import { CALL_INPUT_CHARS, CALL_PATH_CHARS } from "../../guests/javascript/call-limits.ts";
import { JunkError } from "./lines.ts";
import { type AgentEnd, type FromAgent, OUTPUT_CHARS } from "./protocol.ts";

/** The widest figure that a Date can hold. */
const LAST_MS = 8.64e15;
const MAX_MESSAGE_CHARS = 16 * 1024;
const MAX_STACK_CHARS = 64 * 1024;

/** Checks a line of an agent that the program may have taken over. */
export function readFromAgent(line: string): FromAgent {
  const message: unknown = parse(line, "a line");
  if (!Array.isArray(message)) throw new JunkError("a line that is no list");
  const fields = message as unknown[];
  switch (fields[0]) {
    case "ready":
      return check(fields, 1, true);
    case "out":
      return check(fields, 3, (fields[1] === 1 || fields[1] === 2) && isText(fields[2], OUTPUT_CHARS));
    case "call":
      return readCall(fields);
    case "idle": {
      const [, turn, waits, timerMs, timerAt, taken] = fields;
      const times = timerMs === null ? timerAt === null : isTime(timerMs) && isTime(timerAt);
      return check(fields, 6, isCount(turn) && isCount(taken) && typeof waits === "boolean" && times);
    }
    case "done":
      return check(fields, 2, isEnd(fields[1]));
    default:
      throw new JunkError("a line of no known kind");
  }
}

function check(fields: readonly unknown[], length: number, good: boolean): FromAgent {
  if (!good || fields.length !== length) throw new JunkError(`a bad line of the kind "${String(fields[0])}"`);
  return fields as unknown as FromAgent;
}

function readCall(fields: readonly unknown[]): FromAgent {
  const [, id, path, input, at] = fields;
  const good = isCount(id) && isText(path, CALL_PATH_CHARS) && isText(input, CALL_INPUT_CHARS) && isTime(at);
  const message = check(fields, 5, good);
  parse(input as string, "the input of a call");
  return message;
}

function isEnd(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const end = value as AgentEnd;
  if (end.exitCode !== null && !(isCount(end.exitCode) && end.exitCode <= 255)) return false;
  if (end.kind === "returned") {
    if (end.output === null) return true;
    if (typeof end.output !== "string") return false;
    parse(end.output, "the output");
    return true;
  }
  if (end.kind !== "failed" || !isText(end.message, MAX_MESSAGE_CHARS)) return false;
  return Object.hasOwn(TASK_ERRORS, end.code) && (end.stack === null || isText(end.stack, MAX_STACK_CHARS));
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JunkError(`${what} that is no JSON`);
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTime(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= LAST_MS;
}

function isText(value: unknown, chars: number): boolean {
  return typeof value === "string" && value.length <= chars;
}
