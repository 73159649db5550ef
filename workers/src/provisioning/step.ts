import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { chown, lchown, lstat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cgroup } from "../sandboxes/process/cgroups.ts";
import { stepCommand, stepName, type StepWalls } from "./step-walls.ts";
import { walk } from "./walk.ts";

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
  readonly entries: number;
  /** Of its processes together, where this machine lets us bound them; the processors too. */
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpus: number;
}

export type StepEnd =
  | { readonly kind: "exited"; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: Excess };

export type Excess = "timed out" | "too large" | "too many" | "out of memory";

/** What of a program's output is kept; the rest is read and dropped. */
const KEPT_BYTES = 1024 * 1024;
const LOOK_MS = 1_000;
/** Users that no account of the machine has, and no sandbox. */
const USERS = { from: 0x6b00_0000, to: 0x6c00_0000 } as const;

/** Throws only where the signal aborts or nothing can be started. Nothing that the program started is left. */
export async function runStep(step: Step, bounds: StepBounds, walls: StepWalls, signal: AbortSignal): Promise<StepEnd> {
  signal.throwIfAborted();
  const user = process.getuid?.() === 0 ? randomInt(USERS.from, USERS.to) : null;
  if (walls.bubblewrap !== null && user !== null) await giveTo(step.folder, user);
  const group = await walls.groups?.create(stepName(), bounds);
  try {
    return await runBound(step, bounds, stepCommand(step, walls, user, group?.joins ?? []), { group, walls, signal });
  } finally {
    await group?.destroy();
  }
}

interface Around {
  readonly group: Cgroup | undefined;
  readonly walls: StepWalls;
  readonly signal: AbortSignal;
}

async function runBound(
  step: Step,
  bounds: StepBounds,
  [file, ...args]: readonly [string, ...string[]],
  { group, walls, signal }: Around,
): Promise<StepEnd> {
  const child = spawn(file, args, {
    env: step.environment,
    cwd: walls.bubblewrap === null ? (step.cwd ?? step.folder) : "/",
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stdout = keep(child.stdout);
  const stderr = keep(child.stderr);
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
  let why: Excess | null = null;
  const kill = (): void => {
    // Its own group: without walls there is no namespace that takes all of it along.
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  const stop = (reason: Excess): void => {
    why ??= reason;
    kill();
  };
  const watching = new AbortController();
  void watchSize(step.folder, bounds, watching.signal, stop);
  const timer = setTimeout(() => stop("timed out"), bounds.timeoutMs);
  signal.addEventListener("abort", kill, { once: true });
  try {
    const exitCode = await ended;
    signal.throwIfAborted();
    why ??= await sizeOf(step.folder, bounds);
    if (why === null && exitCode !== 0 && (await group?.ranOutOfMemory())) why = "out of memory";
    if (why !== null) return { kind: why };
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

async function watchSize(
  folder: string,
  bounds: StepBounds,
  signal: AbortSignal,
  stop: (why: Excess) => void,
): Promise<void> {
  for (;;) {
    try {
      await sleep(LOOK_MS, undefined, { signal, ref: false });
    } catch {
      return;
    }
    const why = await sizeOf(folder, bounds).catch(() => null);
    if (why !== null && !signal.aborted) return stop(why);
  }
}

/** What a folder takes on the disk, holes not counted; reading stops beyond a bound. */
async function sizeOf(folder: string, bounds: StepBounds): Promise<"too large" | "too many" | null> {
  let [bytes, entries] = [0, 0];
  for await (const { path } of walk(folder, true)) {
    if (++entries > bounds.entries) return "too many";
    // What vanishes meanwhile takes nothing any more.
    bytes += ((await lstat(path).catch(() => null))?.blocks ?? 0) * 512;
    if (bytes > bounds.bytes) return "too large";
  }
  return null;
}

async function giveTo(folder: string, user: number): Promise<void> {
  await chown(folder, user, user);
  for await (const { path } of walk(folder)) await lchown(path, user, user);
}
