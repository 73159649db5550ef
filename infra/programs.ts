import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { LogSink } from "./terminal-log.ts";

export interface Program {
  readonly name: string;
  /** Settles with a sentence when the program ends, whatever the reason. */
  readonly ended: Promise<string>;
  /** Asks for a drain and waits; kills and throws when it takes too long. */
  stop(): Promise<void>;
  /** At once, without waiting: for the last moment of a forced exit. */
  kill(): void;
}

const DRAIN_MS = 25_000;

/** Starts one of Airlock's programs. Its IPC channel carries nothing: it breaks when we die, and the program drains. */
export function startProgram(name: string, entry: string, env: NodeJS.ProcessEnv, sink: LogSink): Program {
  const child = spawn(process.execPath, [entry], { env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on("line", (line) => sink.write(name, line));
  }
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(`could not be started: ${error.message}`));
    // "close" and not "exit", so that its last words have been written.
    child.once("close", (code, signal) =>
      resolve(signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`),
    );
  });
  return { name, ended, stop: () => drain(name, child, ended), kill: () => void child.kill("SIGKILL") };
}

async function drain(name: string, child: ChildProcess, ended: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), DRAIN_MS);
  });
  const outcome = await Promise.race([ended, late]);
  clearTimeout(timer);
  if (outcome === null) {
    child.kill("SIGKILL");
    throw new Error(`the ${name} did not drain within ${DRAIN_MS / 1000} s and was killed`);
  }
  // Killed by SIGTERM: it was so young that it had not yet learned to drain, and so had nothing to lose.
  if (child.exitCode !== 0 && child.signalCode !== "SIGTERM") throw new Error(`the ${name} ${outcome}`);
}
