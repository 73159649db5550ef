import type { SandboxLimits } from "@airlock/shared/domain";
import { execFile } from "node:child_process";
import { chown, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { InputFile } from "../port.ts";

const run = promisify(execFile);

/** The writable folders of a sandbox: all on one file system, so that one bound of bytes and of files holds for all. */
export const WRITABLE = { work: "/work", tmp: "/tmp", home: "/home/guest", shm: "/dev/shm" } as const;
/** Its own folders and the root take one each. */
const OWN_FILES = 1 + Object.keys(WRITABLE).length;

export interface WorkArea {
  /** On the host. Nothing there is to be opened while a process of the sandbox lives. */
  readonly path: string;
  /** What the files that were put in look like: a change of any byte, name or attribute changes it. */
  readonly inputs: ReadonlyMap<string, bigint>;
}

/** A file system in memory, of its own size; it is seen by this machine alone and ends with `removeWorkArea`. */
export async function makeWorkArea(
  at: string,
  owner: number,
  { diskBytes, files }: SandboxLimits,
  inputs: readonly InputFile[],
): Promise<WorkArea> {
  await mkdir(at, { recursive: true });
  const bounds = `size=${diskBytes},nr_inodes=${files + OWN_FILES}`;
  await run("mount", ["-t", "tmpfs", "-o", `${bounds},mode=755,nosuid,nodev`, "airlock", at]);
  await Promise.all(
    Object.keys(WRITABLE).map(async (name) => {
      await mkdir(path.join(at, name));
      await chown(path.join(at, name), owner, owner);
    }),
  );
  const known = new Map<string, bigint>();
  for (const input of inputs) known.set(input.path, await putFile(path.join(at, "work"), input, owner));
  return { path: at, inputs: known };
}

async function putFile(root: string, input: InputFile, owner: number): Promise<bigint> {
  const parts = input.path.split("/");
  for (let i = 1; i < parts.length; i++) {
    const folder = path.join(root, ...parts.slice(0, i));
    await mkdir(folder, { recursive: true });
    await chown(folder, owner, owner);
  }
  const file = path.join(root, ...parts);
  await writeFile(file, input.content, { flag: "wx" });
  await chown(file, owner, owner);
  return (await stat(file, { bigint: true })).ctimeNs;
}

export async function removeWorkArea(at: string): Promise<void> {
  // What is mounted more than once, by a worker that was stopped in between, is unmounted more than once.
  for (;;) {
    try {
      await run("umount", [at]);
    } catch {
      break;
    }
  }
  await rm(at, { recursive: true, force: true, maxRetries: 3 });
}

export async function listWorkAreas(base: string): Promise<string[]> {
  return readdir(base).catch(() => []);
}
