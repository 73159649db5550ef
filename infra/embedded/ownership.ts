import pg from "pg";
import { isAlive } from "./process-table.ts";
import type { Postmaster } from "./postmaster.ts";
import { connectionUrl, type Site } from "./site.ts";

// "airlock" on a telephone keypad; any constant does, the server serves nobody else.
const lockKey = 2475625;
const startPatienceMs = 300_000;
const refusalPatienceMs = 1_500;

/**
 * Who holds this advisory lock owns the home. The lock lives in the server and ends with the owner's connection, so
 * that a killed owner leaves nothing to clean up, and two starters can never both believe they are alone.
 */
export type Claim = { kind: "granted"; client: pg.Client } | { kind: "gone" };

/** Waits until the server answers and takes the lock; `gone` when the server ends first. Throws if another owns it. */
export async function claim(site: Site, postmaster: Postmaster): Promise<Claim> {
  const deadline = Date.now() + startPatienceMs;
  let refusedSince: number | null = null;
  let fault: unknown = null;
  while (Date.now() < deadline) {
    if (!isAlive(postmaster.pid)) return { kind: "gone" };
    const client = newClient(site, postmaster);
    try {
      await client.connect();
      if (await tryLock(client)) return { kind: "granted", client };
      refusedSince ??= Date.now();
      // An owner that was killed a moment ago still holds the lock until the server has noticed.
      if (Date.now() - refusedSince > refusalPatienceMs) throw new HomeInUse(site.home, await findOwner(client));
    } catch (error) {
      fault = error;
    }
    await client.end().catch(() => undefined);
    if (fault instanceof HomeInUse || isFinal(fault)) throw fault;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  throw new Error(`the embedded Postgres (pid ${postmaster.pid}) does not answer`, { cause: fault });
}

class HomeInUse extends Error {
  constructor(home: string, pid: string) {
    super(`another Airlock (pid ${pid}) uses ${home}; stop it or set AIRLOCK_HOME`);
  }
}

function newClient(site: Site, postmaster: Postmaster): pg.Client {
  const client = new pg.Client({
    connectionString: connectionUrl(site, postmaster.port, "postgres"),
    application_name: `airlock-owner-${process.pid}`,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  // Without a listener a dropped connection would be an uncaught exception; the callers look at the outcome instead.
  client.on("error", () => undefined);
  return client;
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ granted: boolean }>("select pg_try_advisory_lock($1) as granted", [lockKey]);
  return rows[0]?.granted === true;
}

async function findOwner(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and objid = $1 and granted`,
    [lockKey],
  );
  return rows[0]?.name.replace("airlock-owner-", "") ?? "unknown";
}

/** A wrong password never becomes right by waiting. */
function isFinal(error: unknown): boolean {
  const code = (error as { code?: string } | null)?.code;
  return code !== undefined && code.startsWith("28");
}
