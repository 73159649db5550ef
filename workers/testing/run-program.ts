import type { SandboxProvider } from "../src/sandboxes/port.ts";
import { type ProgramOptions, type ProgramRun, startGuest } from "./driven-guest.ts";

/** Runs one program on a lease of its own and releases it. */
export async function runProgram(provider: SandboxProvider, options: ProgramOptions): Promise<ProgramRun> {
  return (await startGuest(provider, options)).ended();
}
