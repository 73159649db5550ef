import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { StringDecoder } from "node:string_decoder";
import type { Machine, MachineCommand } from "./machine.ts";

export interface LogEntry {
  readonly stream: "stdout" | "stderr";
  readonly data: string;
}

/** A command that was started in a machine, with all that it said. */
export interface CommandRecord {
  readonly id: string;
  readonly given: MachineCommand;
  readonly startedAt: number;
  readonly log: LogEntry[];
  exitCode: number | null;
  /** Says `more` for each entry, and when it has ended. */
  readonly news: EventEmitter;
}

export function startCommand(machine: Machine, given: MachineCommand): CommandRecord {
  const record: CommandRecord = {
    id: `cmd_${randomUUID()}`,
    given,
    startedAt: Date.now(),
    log: [],
    exitCode: null,
    news: new EventEmitter().setMaxListeners(0),
  };
  const child = machine.run(given);
  child.stdin?.end();
  for (const stream of ["stdout", "stderr"] as const) {
    const decoder = new StringDecoder();
    child[stream]?.on("data", (piece: Buffer) => {
      record.log.push({ stream, data: decoder.write(piece) });
      record.news.emit("more");
    });
  }
  const end = (code: number | null, signal: NodeJS.Signals | null) => {
    record.exitCode = code ?? (signal === "SIGKILL" ? 137 : 143);
    record.news.emit("more");
  };
  child.once("close", end);
  child.once("error", () => end(127, null));
  return record;
}

export async function waitForEnd(record: CommandRecord): Promise<void> {
  while (record.exitCode === null) await once(record.news, "more");
}

export function describeCommand(record: CommandRecord, sessionId: string): Record<string, unknown> {
  const { id, given, startedAt, exitCode } = record;
  const { cmd, args, cwd = "/vercel/sandbox" } = given;
  return { command: { id, name: cmd, args, cwd, sessionId, exitCode, startedAt } };
}
