import { once } from "node:events";
import { CONNECTION_EXIT, type SshChild } from "./connection.ts";

/** A machine cannot be reached; or it can, and does not do what it was asked. */
export class MachineError extends Error {
  override readonly name = "MachineError";
}

const ANSWER_BYTES = 8 * 1024 * 1024;

/** Runs a short command; gives what it printed. */
export async function ask({ child, reason }: SshChild, input?: Buffer): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let errors = "";
  child.stdout?.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES) child.kill("SIGKILL");
    else pieces.push(piece);
  });
  child.stderr?.on("data", (piece: Buffer) => (errors = (errors + piece.toString()).slice(-2_000)));
  const stdin = child.stdin;
  stdin?.on("error", () => {});
  stdin?.end(input);
  const [code] = (await once(child, "close").catch((error: unknown) => {
    throw new MachineError(`ssh cannot be started: ${String(error)}`);
  })) as [number | null];
  if (code === CONNECTION_EXIT) throw new MachineError(await reason());
  if (code !== 0) throw new MachineError(errors.trim().split("\n").at(-1) || `it ended with exit code ${code}`);
  return Buffer.concat(pieces).toString();
}
