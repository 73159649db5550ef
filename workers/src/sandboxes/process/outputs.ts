import { constants, type Dirent } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import path from "node:path";
import type { OutputBounds, OutputFile } from "../port.ts";

const PIECE_BYTES = 256 * 1024;
// Opening a FIFO for reading would wait for a writer.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The regular files below a folder that no process uses any more: nothing changes between the look and the open. Links
 * are left, also hard ones: which of its names would be the file's?
 */
export async function* collectOutputs(
  root: string,
  inputs: ReadonlyMap<string, bigint>,
  bounds: OutputBounds,
): AsyncGenerator<OutputFile> {
  let files = 0;
  let total = 0;
  for await (const [name, entry] of walk(root, "", bounds)) {
    const reason = kindOf(entry);
    if (reason !== null) {
      if (!(await isAsGiven(path.join(root, name), inputs.get(name)))) bounds.onLeft(name, reason);
      continue;
    }
    const handle = await openFile(path.join(root, name));
    if (handle === null) {
      bounds.onLeft(name, "it cannot be opened");
      continue;
    }
    try {
      const { size, nlink, ctimeNs } = await handle.stat({ bigint: true });
      if (inputs.get(name) === ctimeNs) continue;
      const left = whyLeft(Number(size), Number(nlink), files, total, bounds);
      if (left !== null) {
        bounds.onLeft(name, left);
        continue;
      }
      files++;
      total += Number(size);
      yield { path: name, size: Number(size), content: () => readAll(handle, Number(size)) };
    } finally {
      await handle.close();
    }
  }
}

async function* walk(root: string, under: string, bounds: OutputBounds): AsyncGenerator<[string, Dirent]> {
  let entries: Dirent<Buffer>[];
  try {
    entries = await readdir(path.join(root, under), { withFileTypes: true, encoding: "buffer" });
  } catch {
    return bounds.onLeft(under, "it cannot be listed");
  }
  for (const entry of entries.toSorted((a, b) => a.name.compare(b.name))) {
    const text = entry.name.toString();
    const name = under === "" ? text : `${under}/${text}`;
    if (!Buffer.from(text).equals(entry.name)) bounds.onLeft(name, "its name is no UTF-8");
    else if (entry.isDirectory()) yield* walk(root, name, bounds);
    else yield [name, entry as unknown as Dirent];
  }
}

async function isAsGiven(file: string, ctimeNs: bigint | undefined): Promise<boolean> {
  return ctimeNs !== undefined && (await lstat(file, { bigint: true })).ctimeNs === ctimeNs;
}

function kindOf(entry: Dirent): string | null {
  if (entry.isFile()) return null;
  return entry.isSymbolicLink() ? "it is a link" : "it is no regular file";
}

function whyLeft(size: number, links: number, files: number, total: number, bounds: OutputBounds): string | null {
  if (links > 1) return "it is a hard link";
  if (files >= bounds.files) return `there are more than ${bounds.files} files`;
  if (size > bounds.fileBytes) return `it has more than ${bounds.fileBytes} bytes`;
  return total + size > bounds.totalBytes ? `all files together have more than ${bounds.totalBytes} bytes` : null;
}

async function openFile(file: string): Promise<FileHandle | null> {
  try {
    return await open(file, FLAGS);
  } catch {
    return null;
  }
}

async function* readAll(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - at));
    const { bytesRead } = await handle.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}
