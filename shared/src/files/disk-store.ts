import { createReadStream, existsSync } from "node:fs";
import { access, constants, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { type ByteRange, type ReceivedFile, type Store, StoreError, type StoreKey } from "./store.ts";

/** What a crash left half-written: no upload takes a day. */
const ABANDONED_MS = 24 * 3600_000;

/** A folder: this machine's, or a volume that all gateways and workers share. */
export function createDiskStore(root: string): Store {
  const coming = path.join(root, "incoming");
  // Two letters: no folder gets more entries than a file system likes.
  const placeOf = ({ projectId, sha256 }: StoreKey): string => path.join(root, projectId, sha256.slice(0, 2), sha256);
  let cleaned: Promise<void> | null = null;

  return {
    kind: "disk",
    takesFiles: true,
    incoming: () =>
      orStoreError(async () => {
        await mkdir(coming, { recursive: true, mode: 0o700 });
        await (cleaned ??= removeAbandoned(coming));
        return coming;
      }),
    put: (projectId: string, file: ReceivedFile) =>
      orStoreError(async () => {
        const place = placeOf({ projectId, sha256: file.sha256 });
        const folder = path.dirname(place);
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await sync(file.path);
        await rename(file.path, place);
        await sync(folder);
      }),
    async read(key: StoreKey, range?: ByteRange) {
      const stream = createReadStream(placeOf(key), range ?? {});
      return new Promise((resolve, reject) => {
        stream.once("open", () => resolve(stream));
        stream.once("error", (error: NodeJS.ErrnoException) => {
          const why = error.code === "ENOENT" ? "is not in the store any more" : `cannot be read: ${error.message}`;
          reject(new StoreError(`a file ${why}`, { cause: error }));
        });
      });
    },
    remove: (key) => rm(placeOf(key), { force: true }),
    // Made when the first large file comes: most machines never see one.
    check: () => orStoreError(() => access(existsSync(root) ? root : nearest(root), constants.W_OK | constants.X_OK)),
  };
}

/** The folder that is there, on the way to one that is not. */
function nearest(folder: string): string {
  const above = path.dirname(folder);
  return existsSync(above) ? above : nearest(above);
}

/** The disk is full, read-only, or not ours. */
async function orStoreError<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new StoreError(`the folder of the artifact store: ${(error as Error).message}`, { cause: error });
  }
}

/** To the disk itself: a rename that is written before the bytes would show an empty file after a crash. */
async function sync(file: string): Promise<void> {
  const handle = await open(file, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(file, { force: true });
  }
}
