import { spawn } from "node:child_process";
import path from "node:path";

export const BINARY = path.resolve(import.meta.dirname, "../bin/airlock.mjs");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What the standard input holds; nothing where absent. */
  readonly input?: string;
  readonly cwd?: string;
  /** Called with all of the standard output so far, and with a way to send a signal. */
  readonly onOutput?: (stdout: string, kill: (signal: NodeJS.Signals) => void) => void;
}

/** The real program, as a process of its own, in an environment made from nothing. */
export function runBinary(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BINARY, ...args], {
      env: { PATH: process.env["PATH"], HOME: "/nonexistent", ...options.env },
      cwd: options.cwd ?? "/",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      options.onOutput?.(stdout, (signal) => child.kill(signal));
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
    child.stdin.on("error", () => undefined).end(options.input ?? "");
  });
}
