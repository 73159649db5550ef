import { constants, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Of Linux; Node does not name it: a file is looked at and not opened, so that a FIFO or a device feels nothing. */
const O_PATH = 0o10000000;

/** Something in a folder, held fast: whatever happens to its name, this is still what was looked at. */
export interface PinnedFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
  /** A path that leads to it and nowhere else. */
  readonly path: string;
}

/** Follows no link. Null where the name is gone. */
export async function pin(path: string | Buffer): Promise<PinnedFile | null> {
  const handle = await open(path, O_PATH | constants.O_NOFOLLOW).catch(unlessGone);
  if (handle === null) return null;
  try {
    return { handle, stats: await handle.stat(), path: `/proc/self/fd/${handle.fd}` };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** A name in a pinned folder; names are bytes, and need not be text. */
export function nameIn(folder: PinnedFile, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${folder.path}/`), name]);
}

function unlessGone(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}
