import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";

export interface Entry {
  readonly path: Buffer;
  readonly kind: Pick<Dirent, "isDirectory">;
}

const SLASH = Buffer.from("/");
/** Read ahead in each folder; more would only be read in vain where the reader stops. */
const AHEAD = 256;

/**
 * All that lies below a folder, each folder before what is in it. Names are bytes: a file system takes any, and what is
 * no UTF-8 would not be found again under the text that it is read as. In a tree that is `changing`, folders that vanish
 * are left out.
 */
export async function* walk(root: string, changing = false): AsyncGenerator<Entry> {
  const pending = [Buffer.from(root)];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    try {
      // Its types know of no names in bytes.
      const folder = await opendir(at, { encoding: "buffer" as BufferEncoding, bufferSize: AHEAD });
      for await (const entry of folder) {
        const path = Buffer.concat([at, SLASH, entry.name as unknown as Buffer]);
        if (entry.isDirectory()) pending.push(path);
        yield { path, kind: entry };
      }
    } catch (error) {
      if (!changing) throw error;
    }
  }
}

export function isText(name: Buffer): boolean {
  return Buffer.from(name.toString()).equals(name);
}
