import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { chown, lchown, lstat, readdir } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { walledCommand } from "./walls.ts";

/** One program that prepares something: with a writable folder, and with or without the host's network. */
export interface Step {
  readonly command: readonly [string, ...string[]];
  /** Complete: nothing of the worker's own environment is added. Never shown as arguments. */
  readonly environment: Readonly<Record<string, string>>;
  /** Of the host; writable, seen at the same path or at `seenAt`. */
  readonly folder: string;
  readonly seenAt?: string;
  /** Where in it, as the program sees it. */
  readonly cwd?: string;
  readonly network: boolean;
  /** More of the host that it sees, read-only: source and place. */
  readonly sees?: readonly (readonly [source: string, target: string])[];
  /** The same, at places that lie in the folder. */
  readonly inFolder?: readonly (readonly [source: string, target: string])[];
  /** Links that it finds: where they lead, and where they are. */
  readonly links?: readonly (readonly [leadsTo: string, at: string])[];
}

export interface StepBounds {
  readonly timeoutMs: number;
  /** Of all that lies in the folder. */
  readonly bytes: number;
}

export type StepEnd =
  | { readonly kind: "exited"; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: "timed out" }
  | { readonly kind: "too large" };

/** What of a program's output is kept; the rest is read and dropped. */
const KEPT_BYTES = 1024 * 1024;
const LOOK_MS = 2_000;
/** Users that no account of the machine has, and no sandbox. */
const USERS = { from: 0x6b00_0000, to: 0x6c00_0000 } as const;

/** Throws only where the signal aborts or nothing can be started. Nothing that the program started is left. */
export async function runStep(
  step: Step,
  bounds: StepBounds,
  bubblewrap: string | null,
  signal: AbortSignal,
): Promise<StepEnd> {
  signal.throwIfAborted();
  const user = process.getuid?.() === 0 ? randomInt(USERS.from, USERS.to) : null;
  if (bubblewrap !== null && user !== null) await giveTo(step.folder, user);
  const [file, ...args] = bubblewrap === null ? step.command : walledCommand(step, bubblewrap, user);
  const child = spawn(file, args, {
    env: step.environment,
    cwd: bubblewrap === null ? (step.cwd ?? step.folder) : "/",
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stdout = keep(child.stdout);
  const stderr = keep(child.stderr);
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
  let why: "timed out" | "too large" | null = null;
  const kill = (): void => {
    // Its own group: without walls there is no namespace that takes all of it along.
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  const stop = (reason: "timed out" | "too large"): void => {
    why ??= reason;
    kill();
  };
  const watching = new AbortController();
  void watchSize(step.folder, bounds.bytes, watching.signal, () => stop("too large"));
  const timer = setTimeout(() => stop("timed out"), bounds.timeoutMs);
  signal.addEventListener("abort", kill, { once: true });
  try {
    const exitCode = await ended;
    signal.throwIfAborted();
    if (why !== null) return { kind: why };
    if ((await sizeOf(step.folder, bounds.bytes)) > bounds.bytes) return { kind: "too large" };
    return { kind: "exited", exitCode, stdout: stdout(), stderr: stderr() };
  } finally {
    signal.removeEventListener("abort", kill);
    clearTimeout(timer);
    watching.abort();
  }
}

function keep(stream: NodeJS.ReadableStream): () => string {
  const pieces: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (piece: Buffer) => {
    const kept = piece.subarray(0, KEPT_BYTES - bytes);
    bytes += kept.length;
    if (kept.length > 0) pieces.push(kept);
  });
  return () => Buffer.concat(pieces).toString();
}

async function watchSize(folder: string, bytes: number, signal: AbortSignal, tooLarge: () => void): Promise<void> {
  for (;;) {
    try {
      await sleep(LOOK_MS, undefined, { signal, ref: false });
    } catch {
      return;
    }
    if ((await sizeOf(folder, bytes)) > bytes && !signal.aborted) return tooLarge();
  }
}

/** What a folder takes on the disk, holes not counted; reading stops beyond `enough`. */
async function sizeOf(folder: string, enough: number): Promise<number> {
  let bytes = 0;
  const pending = [folder];
  for (let at = pending.pop(); at !== undefined && bytes <= enough; at = pending.pop()) {
    // What vanishes meanwhile takes nothing any more.
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      const name = path.join(at, entry.name);
      const stats = await lstat(name).catch(() => null);
      bytes += (stats?.blocks ?? 0) * 512;
      if (entry.isDirectory()) pending.push(name);
    }
  }
  return bytes;
}

async function giveTo(folder: string, user: number): Promise<void> {
  await chown(folder, user, user);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    await lchown(path.join(entry.parentPath, entry.name), user, user);
  }
}
