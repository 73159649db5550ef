import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "@airlock/infra/embedded";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { migrateToLatest } from "../src/db/index.ts";
import { databaseUrl } from "./database.ts";
import { stopDockerEngine } from "./docker-engine.ts";
import { probeAll } from "./probes.ts";
import { startRedisServer } from "./redis-server.ts";

const TEMPLATE = "airlock_template";
// The data lives as long as the run; what a power cut would do to it is of no interest.
const THROW_AWAY = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: "400" };

/** One Postgres and one Redis for the whole run; each test file gets databases of its own on them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(path.join(tmpdir(), "airlock-test-"));
  const dockerFolder = path.join(home, "docker");
  await mkdir(dockerFolder);
  const absent = await probeAll();
  const postgres = await startEmbeddedPostgres({ home, settings: THROW_AWAY });
  const redis = absent.redis === undefined ? await startRedisServer() : null;
  const teardown = async (): Promise<void> => {
    await redis?.stop();
    await postgres.stop();
    await stopDockerEngine(dockerFolder);
    await rm(home, { recursive: true, force: true });
  };
  try {
    await makeTemplate(postgres.url);
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide("airlock", {
    postgresUrl: postgres.url,
    template: TEMPLATE,
    redisUrl: redis?.url ?? null,
    absent,
    dockerFolder,
    pids: [postgres.pid, ...(redis === null ? [] : [redis.pid])],
  });
  return teardown;
}

async function makeTemplate(server: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl(server, "postgres") });
  await client.connect();
  try {
    await client.query(`create database ${TEMPLATE}`);
    await migrateToLatest(databaseUrl(server, TEMPLATE));
    // A connected session would block copying, so nobody may connect any more.
    await client.query(`alter database ${TEMPLATE} with allow_connections false is_template true`);
  } finally {
    await client.end();
  }
}
