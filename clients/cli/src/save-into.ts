import { createHash } from "node:crypto";
import { mkdir, open, realpath, rm } from "node:fs/promises";
import path from "node:path";
import { UsageError } from "./command.ts";

interface Incoming {
  readonly sha256: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * Writes a file that a guest has named: inside the folder, links in it notwithstanding, under a name that is free, and
 * whole or not at all. Answers its path.
 */
export async function saveInto(folder: string, name: string, ask: () => Promise<Incoming>): Promise<string> {
  if (!isPlainPath(name)) throw new UsageError(`${JSON.stringify(name)} is no name to save a file under`);
  await mkdir(folder, { recursive: true });
  const root = await realpath(folder);
  const file = path.join(root, name);
  await mkdir(path.dirname(file), { recursive: true });
  const parent = await realpath(path.dirname(file));
  if (parent !== path.dirname(file)) throw new UsageError(`a link in ${folder} leads out of it: ${parent}`);
  const handle = await open(file, "wx").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(error.code === "EEXIST" ? `${file} is there already` : `cannot write: ${error.message}`);
  });
  const hash = createHash("sha256");
  try {
    const { sha256, bytes } = await ask();
    for await (const chunk of bytes) {
      hash.update(chunk);
      await handle.write(chunk);
    }
    if (hash.digest("hex") !== sha256) throw new Error(`${name} did not arrive as it was left; try again`);
    await handle.close();
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(file, { force: true });
    throw error;
  }
  return path.join(folder, name);
}

/** The gateway keeps to this as well; a client believes nobody. */
function isPlainPath(name: string): boolean {
  // oxlint-disable-next-line no-control-regex -- these are what is refused
  if (name === "" || path.isAbsolute(name) || /[\\:\0-\x1f]/.test(name)) return false;
  return name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}
