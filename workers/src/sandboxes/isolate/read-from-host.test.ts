import { TASK_ERRORS } from "@airlock/shared/domain";
import { describe, expect, it } from "vitest";
import { CALL_INPUT_CHARS, CALL_PATH_CHARS } from "../../guests/javascript/call-limits.ts";
import { readFromHost } from "./read-from-host.ts";

const READY = { type: "ready", image: "00", environment: [], network: [], files: [] };
const OUTPUT = { type: "output", id: 1, chunks: [[1, "text"]], calls: [[1, "util.echo", "{}", 1, 0]] };
const TURN = { ...OUTPUT, type: "turn", turn: 3, waits: true, timerMs: null, timerAt: 12.5 };
const END = { type: "end", id: 1, chunks: [], calls: [], dropped: 0, end: { kind: "returned", output: null } };
const FAILED = { kind: "failed", code: "GUEST_ERROR", message: "m", stack: "s" };

/** What only the worker can know of a task. */
const OF_THE_WORKER = ["CANCELLED", "QUEUE_EXPIRED", "REPLAY_DIVERGED", "WORKER_LOST", "ISOLATION_UNAVAILABLE"]
  .concat(["ENVIRONMENT_NOT_FOUND", "ENVIRONMENT_INACTIVE", "UNSUPPORTED_ENVIRONMENT", "PROBE_FAILED", "LEASE_FAILED"])
  .concat(["WORKSPACE_FAILED", "PROVISION_FAILED"]);
const OF_THE_GUEST = Object.keys(TASK_ERRORS).filter((code) => !OF_THE_WORKER.includes(code));

const without = (message: object, key: string) =>
  Object.fromEntries(Object.entries(message).filter(([k]) => k !== key));

describe("a message of a host process", () => {
  it.each([
    READY,
    OUTPUT,
    { ...OUTPUT, chunks: [], calls: [] },
    TURN,
    END,
    { ...END, chunks: [[2, ""]], dropped: 12, end: { kind: "returned", output: "1" } },
    ...["null", "{}", '"\\ud800"', " [1, 2] "].map((output) => ({ ...END, end: { kind: "returned", output } })),
    { ...OUTPUT, calls: [[1, "x".repeat(CALL_PATH_CHARS), "x".repeat(CALL_INPUT_CHARS), 0, 0]] },
    ...OF_THE_GUEST.map((code) => ({ ...END, end: { ...FAILED, code } })),
    { ...END, end: without(FAILED, "stack") },
    { ...END, end: { kind: "cancelled" } },
    { ...END, end: { kind: "parked", state: "" } },
    { ...END, end: { kind: "lost", reason: "r" } },
  ])("is taken as it is: %j", (message) => {
    expect(readFromHost(message)).toBe(message);
  });

  it.each([
    ...[undefined, null, 1, "end", true, [], {}, [END], () => END],
    ...[{ type: "run" }, { type: "__proto__" }, { type: ["end"] }],
    ...[READY, OUTPUT, TURN, END].flatMap((message) => Object.keys(message).map((key) => without(message, key))),
    { ...READY, files: "all" },
    ...[[3, "x"], [1], [1, 2], "1x", null, { 0: 1, 1: "x" }].map((chunk) => ({ ...OUTPUT, chunks: [chunk] })),
    ...[
      [1, "p", "{}"],
      [-1, "p", "{}", 0, 0],
      [1, 2, "{}", 0, 0],
      [1, "p", {}, 0, 0],
      [1, "p", "{}", 0.5, 0],
      [1, "p", "{}", 0, -1],
      [1, "p", "{}", 0, 9e15],
      [1, "p", "{}", 0, "0"],
      null,
    ].map((call) => ({ ...OUTPUT, calls: [call] })),
    { ...TURN, waits: 1 },
    ...["1", 1.5, -1, Number.NaN, null].map((id) => ({ ...OUTPUT, id })),
    ...[-1, "1", null].map((turn) => ({ ...TURN, turn })),
    ...["1", {}].map((timerMs) => ({ ...TURN, timerMs })),
    ...[-1, 0.5, "0", Number.POSITIVE_INFINITY].map((dropped) => ({ ...END, dropped })),
    ...[null, "returned", {}, { kind: "parked!" }, { kind: "parked" }].map((end) => ({ ...END, end })),
    ...[undefined, 1, {}].map((output) => ({ ...END, end: { kind: "returned", output } })),
    ...["", "{not json", "undefined", "[1", "1 2", '"\n"'].map((output) => ({
      ...END,
      end: { kind: "returned", output },
    })),
    { ...OUTPUT, calls: [[1, "x".repeat(CALL_PATH_CHARS + 1), "{}", 0, 0]] },
    { ...OUTPUT, calls: [[1, "x.y", "x".repeat(CALL_INPUT_CHARS + 1), 0, 0]] },
    ...OF_THE_WORKER.map((code) => ({ ...END, end: { ...FAILED, code } })),
    ...["message", "code"].map((key) => ({ ...END, end: without(FAILED, key) })),
    ...["", "OOPS", "toString", "__proto__", 1].map((code) => ({ ...END, end: { ...FAILED, code } })),
    { ...END, end: { ...FAILED, stack: 1 } },
    { ...END, end: { kind: "lost" } },
  ])("is refused: %j", (message) => {
    expect(() => readFromHost(message)).toThrow(Error);
  });
});
