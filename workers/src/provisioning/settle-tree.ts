import { type BigIntStats } from "node:fs";
import { chmod, lchown, lstat, realpath, rm } from "node:fs/promises";
import { UnfitTree } from "./failures.ts";
import { isText, walk } from "./walk.ts";

export interface TreeBounds {
  readonly bytes: number;
  readonly entries: number;
}

export interface SettledTree extends TreeBounds {
  /** What was removed, and why; the first of it. */
  readonly dropped: readonly string[];
}

const NAMED = 20;

/**
 * Makes a tree that a program has left fit to be given to sandboxes: it is ours, everyone may read it, nothing in it is
 * set-uid, all names are UTF-8, and it holds folders, files and links that lead to something in it; what is anything else
 * is removed. No process uses it any more. Answers how much there is.
 */
export async function settleTree(root: string, bounds: TreeBounds): Promise<SettledTree> {
  const top = await realpath(root);
  const links: Buffer[] = [];
  const unfit: [Buffer, string][] = [];
  const counted = { bytes: 0, entries: 0 };
  await own(Buffer.from(top), 0o755);
  for await (const { path: file } of walk(top)) {
    const stats = await lstat(file, { bigint: true });
    counted.entries += 1;
    counted.bytes += Number(stats.size);
    if (counted.entries > bounds.entries) throw new UnfitTree(`it has more than ${bounds.entries} files`);
    if (counted.bytes > bounds.bytes) throw new UnfitTree(`it has more than ${bounds.bytes} bytes`);
    if (!isText(nameOf(file))) unfit.push([file, "its name is no UTF-8"]);
    else if (stats.isSymbolicLink()) links.push(file);
    else if (stats.isDirectory()) await own(file, 0o755);
    else if (stats.isFile()) await own(file, modeOf(stats));
    else unfit.push([file, "it is no regular file"]);
  }
  for (const [file] of unfit) await rm(file, { recursive: true, force: true });
  for (const link of links) {
    if (await settleLink(top, link)) continue;
    await rm(link, { force: true });
    unfit.push([link, "it leads to nothing in the tree"]);
  }
  const below = Buffer.byteLength(top) + 1;
  const dropped = unfit.slice(0, NAMED).map(([file, why]) => `${file.subarray(below).toString()}: ${why}`);
  return { ...counted, dropped };
}

async function own(file: Buffer, mode: number): Promise<void> {
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  if (user === 0 && group !== undefined) await lchown(file, user, group);
  await chmod(file, mode);
}

function nameOf(file: Buffer): Buffer {
  return file.subarray(file.lastIndexOf("/") + 1);
}

function modeOf(stats: BigIntStats): number {
  return (stats.mode & 0o111n) === 0n ? 0o644 : 0o755;
}

async function settleLink(top: string, link: Buffer): Promise<boolean> {
  const leadsTo = await realpath(link).catch(() => null);
  if (leadsTo === null || !`${leadsTo}/`.startsWith(`${top}/`)) return false;
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  if (user === 0 && group !== undefined) await lchown(link, user, group);
  return true;
}
