import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { UsageError } from "./command.ts";
import type { Env } from "./context.ts";

export interface Login {
  readonly url: string;
  readonly key: string;
}

export function loginFile(env: Env): string {
  const base = env["XDG_CONFIG_HOME"] || path.join(env["HOME"] || homedir(), ".config");
  return path.join(base, "airlock", "login.json");
}

export async function readLogin(env: Env): Promise<Login | null> {
  const file = loginFile(env);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  return text === null ? null : parseLogin(file, text);
}

function parseLogin(file: string, text: string): Login {
  try {
    const { url, key } = JSON.parse(text) as Partial<Login>;
    if (typeof url === "string" && URL.canParse(url) && typeof key === "string") return { url, key };
  } catch {
    // Told below, with the remedy.
  }
  throw new UsageError(`${file} is no login; make a new one with "airlock login"`);
}

/** For its owner's eyes only, also while it is written; renaming means that nobody reads half of it. */
export async function writeLogin(env: Env, login: Login): Promise<string> {
  const file = loginFile(env);
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, file);
  return file;
}
