import type { SandboxLimits } from "@airlock/shared/domain";
import { execFile } from "node:child_process";
import { chown, lstat, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { type InputFile, type Layer, LeaseError } from "../port.ts";
import { SANDBOX_USERS } from "./processes.ts";

const run = promisify(execFile);

/** The writable folders of a sandbox: all on one file system, so that one bound of bytes and of files holds for all. */
export const WRITABLE = { work: "/work", tmp: "/tmp", home: "/home/guest", shm: "/dev/shm" } as const;
/** Its own folders, that of the layers, and the root take one each. */
const OWN_FILES = 2 + Object.keys(WRITABLE).length;

export interface WorkArea {
  /** On the host. Nothing there is to be opened while a process of the sandbox lives. */
  readonly path: string;
  /** What the files that were put in look like: a change of any byte, name or attribute changes it. */
  readonly inputs: ReadonlyMap<string, bigint>;
  /** At places that the sandbox's own user can reach: what is kept of layers may be closed to others. */
  readonly layers: readonly Layer[];
}

/** A file system in memory, of its own size; it is seen by this machine alone and ends with `removeWorkArea`. */
export async function makeWorkArea(
  at: string,
  owner: number,
  { diskBytes, files }: SandboxLimits,
  inputs: readonly InputFile[],
  layers: readonly Layer[],
): Promise<WorkArea> {
  await mkdir(at, { recursive: true });
  const bounds = `size=${diskBytes},nr_inodes=${files + OWN_FILES + layers.length}`;
  await run("mount", ["-t", "tmpfs", "-o", `${bounds},mode=755,nosuid,nodev`, "airlock", at]);
  await Promise.all(
    Object.keys(WRITABLE).map(async (name) => {
      await mkdir(path.join(at, name));
      await chown(path.join(at, name), owner, owner);
    }),
  );
  const work = path.join(at, "work");
  const known = new Map<string, bigint>();
  for (const { source, target } of layers) if (target === WRITABLE.work) await copyIn(source, work, owner, known);
  for (const input of inputs) known.set(input.path, await putFile(work, input, owner));
  return { path: at, inputs: known, layers: await showLayers(at, layers) };
}

/** Links in it lead nowhere else than to it: what is put below one stays in the work area. */
async function copyIn(source: string, work: string, owner: number, known: Map<string, bigint>): Promise<void> {
  try {
    await run("cp", ["-R", "-P", "--preserve=mode,links,timestamps", "--", `${source}/.`, work]);
  } catch (error) {
    throw new LeaseError("its disk or its number of files is too small for what the work area begins with", {
      cause: error,
    });
  }
  await run("chown", ["-R", "-h", `${owner}:${owner}`, work]);
  for (const entry of await readdir(work, { withFileTypes: true, recursive: true })) {
    if (entry.isDirectory()) continue;
    const file = path.join(entry.parentPath, entry.name);
    known.set(path.relative(work, file), (await lstat(file, { bigint: true })).ctimeNs);
  }
}

async function showLayers(at: string, layers: readonly Layer[]): Promise<Layer[]> {
  const shown: Layer[] = [];
  for (const { source, target } of layers) {
    if (target === WRITABLE.work) continue;
    const place = path.join(at, "layers", String(shown.length));
    await mkdir(place, { recursive: true });
    await run("mount", ["-o", "bind,ro,nosuid,nodev", source, place]);
    shown.push({ source: place, target });
  }
  return shown;
}

async function putFile(root: string, input: InputFile, owner: number): Promise<bigint> {
  const parts = input.path.split("/");
  for (let i = 1; i < parts.length; i++) {
    const folder = path.join(root, ...parts.slice(0, i));
    try {
      await mkdir(folder, { recursive: true });
    } catch {
      // The work area began with a file there.
      await rm(folder, { force: true });
      await mkdir(folder);
    }
    await chown(folder, owner, owner);
  }
  const file = path.join(root, ...parts);
  await rm(file, { recursive: true, force: true });
  await writeFile(file, input.content, { flag: "wx" });
  await chown(file, owner, owner);
  return (await stat(file, { bigint: true })).ctimeNs;
}

export async function removeWorkArea(at: string): Promise<void> {
  // What is mounted more than once, by a worker that was stopped in between, is unmounted more than once.
  for (;;) {
    try {
      await run("umount", ["--recursive", at]);
    } catch {
      break;
    }
  }
  await rm(at, { recursive: true, force: true, maxRetries: 3 });
}

/** The user of the sandbox that it was made for; null where it is none of a sandbox. */
export async function userOf(at: string): Promise<number | null> {
  const { uid } = await stat(path.join(at, "work")).catch(() => ({ uid: 0 }));
  return uid >= SANDBOX_USERS.from && uid < SANDBOX_USERS.to ? uid : null;
}

export async function listWorkAreas(base: string): Promise<string[]> {
  return readdir(base).catch(() => []);
}
