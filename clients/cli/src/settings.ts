import { readFile } from "node:fs/promises";
import path from "node:path";
import { UsageError } from "./command.ts";
import type { Env } from "./context.ts";
import { readLogin } from "./login-file.ts";

export interface SettingsFlags {
  readonly url?: string;
  readonly key?: string;
}

export interface Settings {
  readonly url: string;
  readonly key: string;
}

const CHECKOUT = path.resolve(import.meta.dirname, "../../..");

/** Flags, then the environment, then the login, then an Airlock that was started on this machine. */
export async function findSettings(flags: SettingsFlags, env: Env, cwd: string): Promise<Settings> {
  const login = await readLogin(env);
  const local = `http://127.0.0.1:${env["AIRLOCK_PORT"] || "4001"}`;
  const url = checkUrl(flags.url ?? (env["AIRLOCK_URL"] || login?.url || local));
  const given = flags.key ?? (env["AIRLOCK_KEY"] || null);
  if (given !== null) return { url, key: given };
  // A kept key goes only to the house that it was made for.
  if (login !== null && sameOrigin(login.url, url)) return { url, key: login.key };
  const own = sameOrigin(local, url) ? await findLocalKey(env, cwd) : null;
  if (own !== null) return { url, key: own };
  throw new UsageError(
    `no key for ${url}: give --key or AIRLOCK_KEY, log in with "airlock login", or start Airlock here with "airlock start"`,
  );
}

function checkUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new UsageError(`${JSON.stringify(text)} is no address of a gateway; one looks like http://127.0.0.1:4001`);
  }
  return text;
}

function sameOrigin(one: string, other: string): boolean {
  return new URL(one).origin === new URL(other).origin;
}

/** `npm start` keeps its key in AIRLOCK_HOME: by default in the folder that it was started from, so in the checkout. */
async function findLocalKey(env: Env, cwd: string): Promise<string | null> {
  if (env["AIRLOCK_ADMIN_KEY"]) return env["AIRLOCK_ADMIN_KEY"];
  const homes = env["AIRLOCK_HOME"] ? [env["AIRLOCK_HOME"]] : [cwd, CHECKOUT].map((dir) => path.join(dir, ".airlock"));
  for (const home of homes) {
    const text = await readFile(path.resolve(cwd, home, "admin-key"), "utf8").catch(() => "");
    if (text.trim() !== "") return text.trim();
  }
  return null;
}
