import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface ProbeAnswer {
  readonly ok: boolean;
  /** The first line of what it said, or why there is none. */
  readonly text: string;
}

export async function answerOf(command: string, args: readonly string[]): Promise<ProbeAnswer> {
  try {
    const { stdout } = await run(command, args, { timeout: 10_000 });
    return { ok: true, text: firstLine(stdout) };
  } catch (error) {
    const { code, stderr = "", message } = error as { code?: unknown; stderr?: string; message: string };
    return { ok: false, text: code === "ENOENT" ? "not installed" : firstLine(stderr) || firstLine(message) };
  }
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}
