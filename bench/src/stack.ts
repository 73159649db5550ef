import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "@airlock/infra/embedded";
import { type Bus, createBus } from "@airlock/shared/bus";
import { type Backend, chooseBackend } from "@airlock/shared/queue";
import { type Api, startFleet, startRedisServer } from "@airlock/shared/testing";

/** One gateway and one worker, as separate programs, on a Postgres (and a Redis) of their own. */
export interface Stack {
  readonly backend: Backend;
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly api: Api;
  /** Of the API, and an admin key for it. */
  readonly url: string;
  readonly key: string;
  /** Of the gateway and the worker. */
  readonly pids: readonly [number, number];
  /** Hears of events as soon as they are committed. */
  readonly bus: Bus;
  stop(): Promise<void>;
}

/** `env` goes to gateway and worker. */
export async function startStack(kind: Backend["kind"], env: Readonly<Record<string, string>> = {}): Promise<Stack> {
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const home = await mkdtemp(path.join(tmpdir(), "airlock-bench-"));
    undo.push(() => rm(home, { recursive: true, force: true }));
    const postgres = await startEmbeddedPostgres({ home, log: console, settings: { track_commit_timestamp: "on" } });
    undo.push(() => postgres.stop());
    const redis = kind === "redis" ? await startRedisServer(["--appendonly", "yes"]) : null;
    if (redis) undo.push(() => redis.stop());
    const fleet = await startFleet({ databaseUrl: postgres.url, redisUrl: redis?.url ?? null, env });
    undo.push(() => fleet.stop());
    const backend = chooseBackend({ redisUrl: redis?.url ?? null, databaseUrl: postgres.url });
    const bus = createBus(backend, (error) => console.warn(error.message));
    undo.push(() => bus.close());
    const pids = [fleet.gateway.pid ?? 0, fleet.workers[0]?.pid ?? 0] as const;
    const url = `${fleet.url}/graphql`;
    const redisUrl = redis?.url ?? null;
    return { backend, databaseUrl: postgres.url, redisUrl, api: fleet.api, url, key: fleet.key, pids, bus, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
