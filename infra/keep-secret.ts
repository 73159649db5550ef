import { randomBytes, randomUUID } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";

/** A secret made once and kept for the owner's eyes only. Linking a finished file means nobody ever reads half of it. */
export async function keepSecret(file: string, prefix = ""): Promise<string> {
  const kept = await readSecret(file);
  if (kept !== null) return kept;
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, `${prefix}${randomBytes(24).toString("base64url")}\n`, { mode: 0o600 });
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await rm(draft, { force: true });
  return (await readSecret(file)) as string;
}

async function readSecret(file: string): Promise<string | null> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text !== null && text.trim() === "") throw new Error(`${file} is empty; put its secret back or remove the file`);
  return text === null ? null : text.trim();
}
