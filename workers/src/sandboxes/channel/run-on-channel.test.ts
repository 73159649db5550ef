import { DEFAULT_GUEST_LIMITS } from "@airlock/shared/domain";
import { expect, it } from "vitest";
import type { GuestIdle } from "../port.ts";
import { runOnChannel } from "./run-on-channel.ts";
import type { Transport, TransportEnd, TransportListener } from "./transport.ts";

/** A guest whose agent is the test. */
function start() {
  const ended = Promise.withResolvers<TransportEnd>();
  const sent: unknown[][] = [];
  const idles: GuestIdle[] = [];
  let heard: TransportListener | null = null;
  const transport: Transport = {
    ended: ended.promise,
    kill: () => ended.resolve({ kind: "exited", exitCode: null, signal: "SIGKILL" }),
    send: (line) => sent.push(JSON.parse(line) as unknown[]),
    listen: (listener) => (heard = listener),
  };
  const about = { language: "JAVASCRIPT", code: "", input: null, seed: "00", clockStart: 0, kept: null } as const;
  const ignore = () => {};
  const channel = { output: ignore, dropped: ignore, call: ignore, idle: (idle: GuestIdle) => void idles.push(idle) };
  const program = { ...about, live: true, limits: DEFAULT_GUEST_LIMITS };
  const running = runOnChannel(transport, program, channel, new AbortController().signal, { memoryBytes: 1 });
  const say = (...messages: unknown[][]) =>
    heard?.data(Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join("")));
  return { running, say, sent, idles, end: ended.resolve };
}

const CALL = ["call", 1, "a.b", "{}", 0];

it("a report of being idle that crossed an outcome on its way is of a guest that moves again: nobody hears of it", async () => {
  const { running, say, idles } = start();
  say(["ready"], CALL);
  running.settle({ id: 1, at: 1, result: { ok: true, value: "1" }, meta: {} });
  say(["idle", 1, true, null, null, 1]);
  expect(idles).toEqual([]);
  running.park({ turn: 1, waits: true, timerMs: null, timerAt: null });
  say(["idle", 2, true, null, null, 2]);
  expect(idles).toMatchObject([{ turn: 2 }]);
  running.park(idles[0] as GuestIdle);
  expect(await running.outcome).toEqual({ kind: "parked", kept: null });
});

it("parking and ticks name the last report, and no other one does anything", async () => {
  const { running, say, sent, idles, end } = start();
  say(["ready"], CALL, ["idle", 1, true, 5, 5, 1]);
  const [first] = idles as [GuestIdle];
  running.tick(first);
  running.tick(first);
  running.park(first);
  expect(sent.slice(1)).toEqual([["tick", 1]]);
  end({ kind: "gone", reason: "the machine is lost" });
  expect(await running.outcome).toEqual({ kind: "lost", reason: "the machine is lost" });
});

it.each([
  ["a line of no kind", ["what"], /no known kind/],
  ["a call whose number does not rise", CALL, /did not rise/],
  ["an input that is no JSON", ["call", 2, "a.b", "{", 0], /no JSON/],
  ["a path beyond its bound", ["call", 2, "a".repeat(300), "{}", 0], /bad line/],
  ["a time that is none", ["call", 2, "a.b", "{}", -1], /bad line/],
  ["an output that is no JSON", ["done", { kind: "returned", output: "{", exitCode: null }], /no JSON/],
  ["an end of no kind", ["done", { kind: "parked", exitCode: null }], /bad line/],
  ["a second start", ["ready"], /ready twice/],
])("%s ends the guest, with its name", async (_, line, message) => {
  const { running, say } = start();
  say(["ready"], CALL, line);
  const failure = { code: "GUEST_ERROR", message: expect.stringMatching(message) as string };
  expect(await running.outcome).toMatchObject({ kind: "failed", failure });
});

it("a program cannot say of itself that time was up or that its sandbox broke", async () => {
  const { running, say } = start();
  say(["ready"], ["done", { kind: "failed", code: "SANDBOX_FAILED", message: "x", stack: null, exitCode: null }]);
  expect(await running.outcome).toMatchObject({ kind: "failed", failure: { code: "TOOL_FAILED" } });
});

it("an agent that ends before it is ready is the sandbox's fault, and its last words are told", async () => {
  const { running, end } = start();
  end({ kind: "exited", exitCode: 1, signal: null });
  expect(await running.outcome).toMatchObject({ kind: "lost", reason: expect.stringMatching(/exit code 1/) as string });
});
