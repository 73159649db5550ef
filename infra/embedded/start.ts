import type pg from "pg";
import { createCluster } from "./cluster.ts";
import { claim } from "./ownership.ts";
import { findPostmaster, launchPostmaster, logTail, type Postmaster, stopPostmaster } from "./postmaster.ts";
import { isAlive } from "./process-table.ts";
import { connectionUrl, prepareSite, type Site } from "./site.ts";

export type StartOptions = {
  /** The folder that holds the data; made when absent. */
  home: string;
  /** Hears what a person should know; silent unless given. */
  log?: { warn(message: string): void };
  /** Server settings that differ from ours, e.g. for throw-away data in tests. */
  settings?: Record<string, string>;
  /** Where the platform package lies; found by itself unless given. */
  packageFolder?: string;
};

export type EmbeddedPostgres = {
  url: string;
  pid: number;
  /** True when the server was left running by an owner that died. */
  adopted: boolean;
  /** Settles when the server is no more ours: it ended, or another took the home. Never settles after `stop()`. */
  lost: Promise<string>;
  stop(): Promise<void>;
  /** Asks for a fast shutdown and does not wait: for the last moment of a forced exit. */
  kill(): void;
};

/** Starts (or takes over) the one Postgres of a home, or says who else uses it. */
export async function startEmbeddedPostgres(options: StartOptions): Promise<EmbeddedPostgres> {
  const site = await prepareSite(options.home, options.packageFolder);
  await createCluster(site);
  for (let attempt = 1; ; attempt++) {
    const found = await findPostmaster(site);
    const postmaster = found ?? (await launchPostmaster(site, options.settings ?? {}));
    const outcome = await claim(site, postmaster);
    if (outcome.kind === "granted") {
      if (found !== null) options.log?.warn(`took over the Postgres (pid ${found.pid}) of an Airlock that was killed`);
      await ensureDatabase(outcome.client);
      return own(site, postmaster, outcome.client, found !== null);
    }
    const tail = await logTail(site, postmaster);
    if (found === null && !canPass(tail, attempt)) throw new Error(`the embedded Postgres did not start:\n${tail}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** A port taken meanwhile, a rival's start, or the last backends of a killed server: all worth another try. */
function canPass(tail: string, attempt: number): boolean {
  const passing = /Address already in use|postmaster\.pid" already exists|shared memory block .*still in use/;
  return attempt < 50 && passing.test(tail);
}

async function ensureDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select 1 from pg_database where datname = 'airlock'");
  if (rowCount === 0) await client.query("create database airlock");
}

function own(site: Site, postmaster: Postmaster, first: pg.Client, adopted: boolean): EmbeddedPostgres {
  let client = first;
  let stopping = false;
  let stopped = false;
  const lost = new Promise<string>((resolve) => {
    const watch = () => {
      client.once("end", () => {
        if (!stopping) void renew();
      });
    };
    // A crashed backend makes the server drop everybody and recover: the lock is then taken again.
    const renew = async () => {
      try {
        const outcome = await claim(site, postmaster);
        if (stopping) return;
        if (outcome.kind === "gone") return resolve(`Postgres ended:\n${await logTail(site, postmaster)}`);
        client = outcome.client;
        watch();
      } catch (error) {
        resolve((error as Error).message);
      }
    };
    watch();
  });
  return {
    url: connectionUrl(site, postmaster.port, "airlock"),
    pid: postmaster.pid,
    adopted,
    lost,
    stop: async () => {
      stopping = true;
      if (isAlive(postmaster.pid)) await stopPostmaster(postmaster.pid);
      stopped = true;
      await client.end().catch(() => undefined);
    },
    kill: () => {
      stopping = true;
      if (!stopped && isAlive(postmaster.pid)) process.kill(postmaster.pid, "SIGINT");
    },
  };
}
