import type { Command } from "@vercel/sandbox";
import { faultOf, wordsOf } from "./failures.ts";
import { pause, persist } from "./retry.ts";
import { LogChanged, SeenText } from "./seen-text.ts";

/** Readings in a row that bring nothing before it is given up: about half a minute. */
const VAIN_READINGS = 10;

export type CommandEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "gone"; readonly reason: string };

export interface LogListener {
  hear(stream: "stdout" | "stderr", text: string): void;
}

/** How a command is asked for, which outlives every single stream of its log. */
export interface CommandHandle {
  readonly command: Command;
  /** Its state, asked anew. Throws the SDK's errors. */
  exitCode(): Promise<number | null>;
  /** Whether its machine still runs. */
  isAlive(): Promise<boolean>;
}

/**
 * Tells all that a command says, each character once, until it has ended; a stream that is lost is asked for again.
 * A stream that ends cleanly proves nothing (whatever stands between may have cut it): what counts is a reading that
 * was begun after the command's end.
 */
export async function followCommand(handle: CommandHandle, listener: LogListener): Promise<CommandEnd> {
  const seen = { stdout: new SeenText(), stderr: new SeenText() };
  let exitCode: number | null = null;
  for (let vain = 0; vain < VAIN_READINGS;) {
    const reading = await readOnce(handle.command, seen, listener);
    if (reading.fault instanceof LogChanged) return { kind: "gone", reason: reading.fault.message };
    if (exitCode !== null && reading.fault === null) return { kind: "exited", exitCode };
    try {
      exitCode ??= await persist(() => handle.exitCode());
      if (exitCode === null && !(await persist(() => handle.isAlive()))) {
        return { kind: "gone", reason: "the sandbox was stopped" };
      }
    } catch (error) {
      const gone = faultOf(error) === "gone";
      return { kind: "gone", reason: gone ? "the sandbox is gone" : `the sandbox cannot be asked: ${wordsOf(error)}` };
    }
    vain = reading.brought ? 0 : vain + 1;
    if (exitCode === null || reading.fault !== null) await pause(vain);
  }
  return { kind: "gone", reason: "what the sandbox says cannot be read" };
}

async function readOnce(
  command: Command,
  seen: Readonly<Record<"stdout" | "stderr", SeenText>>,
  listener: LogListener,
): Promise<{ readonly brought: boolean; readonly fault: unknown }> {
  let brought = false;
  seen.stdout.rewind();
  seen.stderr.rewind();
  try {
    for await (const { stream, data } of command.logs()) {
      const fresh = seen[stream].take(data);
      if (fresh === "") continue;
      brought = true;
      listener.hear(stream, fresh);
    }
    return { brought, fault: null };
  } catch (fault) {
    return { brought, fault };
  }
}
