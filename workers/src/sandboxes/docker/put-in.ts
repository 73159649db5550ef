import type { Readable } from "node:stream";
import type Docker from "dockerode";
import { pack as packFolder } from "tar-fs";
import { pack } from "tar-stream";
import { type InputFile, type Layer, LeaseError } from "../port.ts";
import { runInside } from "./engine.ts";
import { FIND_ENTRIES, parseEntry } from "./entries.ts";

/** Where a guest may write; all else is read-only. */
const WRITABLE = ["/work", "/home/guest", "/tmp"];
const UNPACK = 'mkdir -p "$1" && tar -x -f - -C "$1" --no-same-owner';

/**
 * Copies files and layers in, as the guest, through a program inside: the engine's own way of copying neither reaches a
 * tmpfs nor a container with a read-only root, and a bind mount needs the worker and the engine to share a disk.
 * Answers the work area as the program finds it.
 */
export async function putIn(
  container: Docker.Container,
  files: readonly InputFile[],
  layers: readonly Layer[],
): Promise<Map<string, string>> {
  if (files.length === 0 && layers.length === 0) return new Map();
  for (const { source, target } of layers) {
    if (!WRITABLE.some((folder) => target === folder || target.startsWith(`${folder}/`))) {
      throw new LeaseError(`a layer cannot be put at ${target}: only ${WRITABLE.join(", ")} can be written`);
    }
    await unpack(container, target, packFolder(source));
  }
  if (files.length > 0) await unpack(container, "/work", packFiles(files));
  const listed = await runInside(container, ["sh", "-c", `cd /work && ${FIND_ENTRIES}`], null);
  const found = new Map<string, string>();
  for (const record of splitRecords(listed)) {
    const entry = parseEntry(record);
    if (entry !== null) found.set(entry.path, entry.version);
  }
  return found;
}

async function unpack(container: Docker.Container, target: string, archive: Readable): Promise<void> {
  await runInside(container, ["sh", "-c", UNPACK, "unpack", target], archive);
}

function packFiles(files: readonly InputFile[]): Readable {
  const archive = pack();
  for (const { path, content } of files) archive.entry({ name: path, mode: 0o644 }, content);
  archive.finalize();
  return archive;
}

function* splitRecords(text: Buffer): Generator<Buffer> {
  for (let from = 0, end = text.indexOf(0); end >= 0; from = end + 1, end = text.indexOf(0, from)) {
    yield text.subarray(from, end);
  }
}
