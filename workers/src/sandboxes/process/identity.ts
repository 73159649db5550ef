import { randomUUID } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/**
 * A word of its own for a folder, for as long as it is there. Its path would not do: workers in different containers may
 * have the same path and share the kernel's groups, and would end each other's.
 */
export async function identityOf(folder: string): Promise<string> {
  const file = path.join(folder, "identity");
  const draft = path.join(folder, `identity.${randomUUID()}`);
  await writeFile(draft, randomUUID().slice(0, 18));
  try {
    // Whole or not at all, and the first one stays.
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(file, "utf8");
}
