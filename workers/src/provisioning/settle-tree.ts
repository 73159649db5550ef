import { type BigIntStats } from "node:fs";
import { chmod, lchown, lstat, readdir, realpath, rm } from "node:fs/promises";
import path from "node:path";
import { UnfitTree } from "./failures.ts";

export interface TreeBounds {
  readonly bytes: number;
  readonly entries: number;
}

/**
 * Makes a tree that a program has left fit to be given to sandboxes: it is ours, everyone may read it, nothing in it is
 * set-uid, and it holds folders, files and links that lead to something in it; other links and what is no file are
 * removed. No process uses it any more. Answers how much there is.
 */
export async function settleTree(root: string, bounds: TreeBounds): Promise<TreeBounds> {
  const top = await realpath(root);
  const links: string[] = [];
  const counted = { bytes: 0, entries: 0 };
  const pending = [top];
  await own(top, 0o755);
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    for (const name of await readdir(at)) {
      const file = path.join(at, name);
      const stats = await lstat(file, { bigint: true });
      counted.entries += 1;
      counted.bytes += Number(stats.size);
      if (counted.entries > bounds.entries) throw new UnfitTree(`it has more than ${bounds.entries} files`);
      if (counted.bytes > bounds.bytes) throw new UnfitTree(`it has more than ${bounds.bytes} bytes`);
      if (stats.isSymbolicLink()) links.push(file);
      else if (stats.isDirectory()) {
        await own(file, 0o755);
        pending.push(file);
      } else if (stats.isFile()) await own(file, modeOf(stats));
      else await rm(file);
    }
  }
  for (const link of links) await settleLink(top, link);
  return counted;
}

async function own(file: string, mode: number): Promise<void> {
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  if (user === 0 && group !== undefined) await lchown(file, user, group);
  await chmod(file, mode);
}

function modeOf(stats: BigIntStats): number {
  return (stats.mode & 0o111n) === 0n ? 0o644 : 0o755;
}

async function settleLink(top: string, link: string): Promise<void> {
  const leadsTo = await realpath(link).catch(() => null);
  if (leadsTo === null || !`${leadsTo}/`.startsWith(`${top}/`)) return rm(link);
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  if (user === 0 && group !== undefined) await lchown(link, user, group);
}
