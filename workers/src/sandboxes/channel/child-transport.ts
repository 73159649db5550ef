import type { ChildProcess } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import type { Transport, TransportEnd, TransportListener } from "./transport.ts";

/** Where an agent finds its channel when it is a child of the worker's: its own to write to is never made to wait. */
export const CHANNEL_STDIO = ["ignore", "pipe", "pipe", "pipe", "pipe"] as const;
export const CHANNEL_ARGUMENTS = ["--in", "3", "--out", "4"] as const;

export interface ChildEnds {
  kill(): void;
  /** What the end of the process means, seen from outside. */
  judge(end: {
    readonly exitCode: number | null;
    readonly signal: string | null;
  }): TransportEnd | Promise<TransportEnd>;
}

/** The channel of an agent that was spawned with `CHANNEL_STDIO`. What it says before anyone listens waits. */
export function childTransport(child: ChildProcess, ends: ChildEnds): Transport {
  const [, stdout, stderr, to, from] = child.stdio as [null, Readable, Readable, Duplex, Duplex];
  for (const stream of [stdout, stderr, to, from]) stream.on("error", () => {});
  const ended = new Promise<TransportEnd>((resolve) => {
    child.once("error", (error) => resolve({ kind: "gone", reason: `it cannot be started: ${error.message}` }));
    // Comes when all of its streams have been read to their ends.
    child.once("close", (exitCode, signal) => resolve(ends.judge({ exitCode, signal })));
  });
  return {
    ended,
    kill: () => {
      // Nobody reads what was never listened to, and it would not end.
      for (const stream of [stdout, stderr, from]) if (stream.listenerCount("data") === 0) stream.resume();
      ends.kill();
    },
    send: (line) => {
      if (!to.destroyed) to.write(`${line}\n`);
    },
    listen: (heard: TransportListener) => {
      from.on("data", (piece: Buffer) => heard.data(piece));
      stdout.on("data", (piece: Buffer) => heard.raw(1, piece));
      stderr.on("data", (piece: Buffer) => heard.raw(2, piece));
    },
  };
}
