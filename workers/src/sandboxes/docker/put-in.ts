import path from "node:path";
import type { Readable } from "node:stream";
import type Docker from "dockerode";
import { pack as packFolder } from "tar-fs";
import { pack } from "tar-stream";
import { type InputFile, type Layer, LeaseError } from "../port.ts";
import { PACKAGES } from "./container-spec.ts";
import { runInside } from "./engine.ts";
import { FIND_ENTRIES, parseEntry } from "./entries.ts";

/** Where a guest may write; all else is read-only. */
const WRITABLE = ["/work", "/home/guest", "/tmp"];
const UNPACK = 'mkdir -p "$1" && tar -x -f - -C "$1" --no-same-owner';
/** Everyone may read what is root's, whatever its modes are here. */
const UNPACK_FOR_ALL = `${UNPACK} && chmod -R a+rX "$1"`;
/** What stood there gives way, as under a mount. */
const LINK = 'mkdir -p "$(dirname "$2")" && rm -rf "$2" && ln -s "$1" "$2"';
const WORK = "/work";

/**
 * Copies files and layers in, through a program inside: the engine's own way of copying neither reaches a
 * tmpfs nor a container with a read-only root, and a bind mount needs the worker and the engine to share a disk.
 * What the program may change is the guest's own; of other layers, which are root's, it gets a link. Answers the work area
 * as the program finds it; `used`: another one has left something there. Throws `LeaseError`, with a code where it does not fit.
 */
export async function putIn(
  container: Docker.Container,
  files: readonly InputFile[],
  layers: readonly Layer[],
  used = false,
): Promise<Map<string, string>> {
  if (files.length === 0 && layers.length === 0 && !used) return new Map();
  for (const [index, { source, target }] of layers.entries()) {
    if (!WRITABLE.some((folder) => target === folder || target.startsWith(`${folder}/`))) {
      throw new LeaseError(`a layer cannot be put at ${target}: only ${WRITABLE.join(", ")} can be written`);
    }
    if (target === WORK) await unpack(container, packFolder(source));
    else {
      // Under its own name: a package looks for its neighbours in folders called node_modules.
      const place = `${PACKAGES}/${index}/${path.basename(target)}`;
      const as = { user: "0:0", code: "PROVISION_FAILED" } as const;
      await runInside(container, ["sh", "-c", UNPACK_FOR_ALL, "unpack", place], packFolder(source), as);
      await runInside(container, ["sh", "-c", LINK, "link", place, target], null);
    }
  }
  if (files.length > 0) await unpack(container, packFiles(files));
  const listed = await runInside(container, ["sh", "-c", `cd /work && ${FIND_ENTRIES}`], null);
  const found = new Map<string, string>();
  for (const record of splitRecords(listed)) {
    const entry = parseEntry(record);
    if (entry !== null) found.set(entry.path, entry.version);
  }
  return found;
}

async function unpack(container: Docker.Container, archive: Readable): Promise<void> {
  await runInside(container, ["sh", "-c", UNPACK, "unpack", WORK], archive, { code: "WORKSPACE_FAILED" });
}

function packFiles(files: readonly InputFile[]): Readable {
  const archive = pack();
  for (const { path: name, content } of files) archive.entry({ name, mode: 0o644 }, content);
  archive.finalize();
  return archive;
}

function* splitRecords(text: Buffer): Generator<Buffer> {
  for (let from = 0, end = text.indexOf(0); end >= 0; from = end + 1, end = text.indexOf(0, from)) {
    yield text.subarray(from, end);
  }
}
