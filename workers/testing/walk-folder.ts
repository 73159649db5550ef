import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { type Dir, type Stats } from "node:fs";
import { open, opendir } from "node:fs/promises";
import { FILE_PATH_LIMITS } from "@airlock/shared/domain";
import type { InputFile, OutputBounds, OutputFile } from "../src/sandboxes/port.ts";
import { nameIn, pin, type PinnedFile } from "./pinned-file.ts";

/** A program can make more names than anybody wants to read. */
const MAX_ENTRIES = 50_000;
const CHUNK = 256 * 1024;

/** Size and hash of what was there before the program ran, by path. */
export type Given = ReadonlyMap<string, { readonly size: number; readonly sha256: string }>;

export function givenOf(files: readonly InputFile[]): Given {
  return new Map(files.map(({ path, content }) => [path, { size: content.length, sha256: sha256Of(content) }]));
}

/**
 * The regular files of a folder whose content a hostile program has made, in the order of their names, without those that
 * are as they were given. Whatever the program does meanwhile, nothing outside the folder is read and nothing but regular
 * files is opened: each thing is pinned before it is looked at, folders are entered by descriptor, and links, devices,
 * FIFOs, sockets, other file systems and files with a second name are left. Linux only.
 */
export async function* walkFolder(root: string, bounds: OutputBounds, given: Given): AsyncGenerator<OutputFile> {
  const folder = await pin(root);
  if (folder === null) return;
  try {
    if (!folder.stats.isDirectory()) throw new Error("the work area is not a folder");
    yield* enter({ bounds, given, dev: folder.stats.dev, entries: 0, files: 0, bytes: 0 }, folder, []);
  } finally {
    await folder.handle.close();
  }
}

interface Walk {
  readonly bounds: OutputBounds;
  readonly given: Given;
  readonly dev: number;
  entries: number;
  files: number;
  bytes: number;
}

async function* enter(walk: Walk, folder: PinnedFile, above: readonly string[]): AsyncGenerator<OutputFile> {
  for (const name of await namesOf(walk, folder, above)) {
    const path = [...above, readable(name)].join("/");
    if (!isUtf8(name)) {
      walk.bounds.onLeft(path, "its name is not UTF-8");
      continue;
    }
    const entry = await pin(nameIn(folder, name));
    if (entry === null) continue;
    try {
      yield* visit(walk, entry, [...above, String(name)], path);
    } finally {
      await entry.handle.close();
    }
  }
}

async function* visit(
  walk: Walk,
  entry: PinnedFile,
  parts: readonly string[],
  path: string,
): AsyncGenerator<OutputFile> {
  const { bounds } = walk;
  if (entry.stats.dev !== walk.dev) return bounds.onLeft(path, "it is on another file system");
  if (entry.stats.isDirectory()) {
    if (parts.length < FILE_PATH_LIMITS.depth) yield* enter(walk, entry, parts);
    else bounds.onLeft(path, `folders deeper than ${FILE_PATH_LIMITS.depth} are not entered`);
    return;
  }
  const kind = unusualKind(entry.stats);
  if (kind !== null) return bounds.onLeft(path, kind);
  if (await isAsGiven(walk.given, path, entry)) return;
  const { size } = entry.stats;
  if (walk.files >= bounds.files) return bounds.onLeft(path, `there are more than ${bounds.files} files`);
  if (size > bounds.fileBytes) return bounds.onLeft(path, `it has ${size} bytes, more than ${bounds.fileBytes}`);
  if (walk.bytes + size > bounds.totalBytes) {
    return bounds.onLeft(path, `with its ${size} bytes there are more than ${bounds.totalBytes} of all files`);
  }
  walk.files += 1;
  walk.bytes += size;
  yield { path, size, content: () => read(entry, size) };
}

function unusualKind(stats: Stats): string | null {
  if (stats.isSymbolicLink()) return "it is a symbolic link";
  if (stats.isFIFO()) return "it is a FIFO";
  if (stats.isSocket()) return "it is a socket";
  if (!stats.isFile()) return "it is a device";
  // The other name may be somebody else's file.
  return stats.nlink > 1 ? "it has more than one name (hard link)" : null;
}

/** Sorted, so that what is beyond a bound does not depend on the file system. */
async function namesOf(walk: Walk, folder: PinnedFile, above: readonly string[]): Promise<Buffer[]> {
  const names: Buffer[] = [];
  const listing = await opendir(folder.path, { encoding: "buffer" as BufferEncoding }).catch(() => null);
  if (listing === null) {
    walk.bounds.onLeft(above.join("/"), "this folder cannot be read");
    return names;
  }
  // Closes by itself at its end and when it is left.
  for await (const { name } of listing as Dir & AsyncIterable<{ name: unknown }>) {
    if ((walk.entries += 1) > MAX_ENTRIES) {
      walk.bounds.onLeft(above.join("/") || ".", `there are more than ${MAX_ENTRIES} names; the rest is not looked at`);
      break;
    }
    names.push(name as unknown as Buffer);
  }
  return names.sort((a, b) => Buffer.compare(a, b));
}

async function isAsGiven(given: Given, path: string, entry: PinnedFile): Promise<boolean> {
  const before = given.get(path);
  if (before === undefined || before.size !== entry.stats.size) return false;
  const hash = createHash("sha256");
  for await (const chunk of read(entry, before.size)) hash.update(chunk);
  return hash.digest("hex") === before.sha256;
}

/** At most as many bytes as the file had: one that grows meanwhile is cut. */
async function* read(entry: PinnedFile, size: number): AsyncGenerator<Buffer> {
  const handle = await open(entry.path, "r");
  try {
    for (let at = 0; at < size;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(CHUNK, size - at)), { position: at });
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

function readable(name: Buffer): string {
  return isUtf8(name) ? String(name) : name.toString("latin1");
}

function sha256Of(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
