import type { InputFile, OutputBounds, SandboxProvider } from "../src/sandboxes/port.ts";
import { startGuest } from "./driven-guest.ts";

export interface Outputs {
  /** Path → content. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Path → why. */
  readonly left: ReadonlyMap<string, string>;
  readonly stderr: string;
}

const BOUNDS = { files: 1_000, fileBytes: 1024 * 1024, totalBytes: 8 * 1024 * 1024 };

/** Runs a program on a work area and takes what it leaves there. */
export async function outputsOf(
  provider: SandboxProvider,
  code: string,
  given: Readonly<Record<string, string>> = {},
  bounds: Partial<OutputBounds> = {},
): Promise<Outputs> {
  const files: InputFile[] = Object.entries(given).map(([path, text]) => ({ path, content: Buffer.from(text) }));
  const guest = await startGuest(provider, { code, lease: { files } });
  const found = new Map<string, Buffer>();
  const left = new Map<string, string>();
  try {
    const outcome = await guest.running.outcome;
    const stderr = guest.heard.map(([stream, text]) => (stream === "stderr" ? text : "")).join("");
    if (outcome.kind !== "returned") throw new Error(`${JSON.stringify(outcome)}: ${stderr}`);
    const onLeft = (path: string, reason: string): void => void left.set(path, reason);
    for await (const file of guest.lease.outputs({ ...BOUNDS, onLeft, ...bounds })) {
      const chunks: Buffer[] = [];
      for await (const chunk of file.content()) chunks.push(chunk);
      found.set(file.path, Buffer.concat(chunks));
    }
    return { files: found, left, stderr };
  } finally {
    await guest.ended();
  }
}
