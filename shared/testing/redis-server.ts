import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Redis } from "ioredis";
import { freePort } from "../src/runtime/index.ts";

export interface RedisServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A Redis of one's own, for tests that change server settings, flush everything or kill the server. */
export async function startRedisServer(
  extra: readonly string[] = [],
  options: {
    /** A free one where absent; given, an empty server takes the place of one that was killed. */
    readonly port?: number;
  } = {},
): Promise<RedisServer> {
  const dir = await mkdtemp(path.join(tmpdir(), "airlock-redis-"));
  const port = options.port ?? (await freePort());
  const where = ["--bind", "127.0.0.1", "--port", String(port), "--dir", dir, "--databases", "1000"];
  const keep = ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"];
  const child = spawn("redis-server", [...where, ...keep, ...extra], { stdio: "ignore" });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await exited;
    await rm(dir, { recursive: true, force: true });
  };
  await once(child, "spawn");
  const url = `redis://127.0.0.1:${port}`;
  await waitForRedis(url).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { url, pid: child.pid as number, stop };
}

async function waitForRedis(url: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: 250 });
  client.on("error", () => undefined);
  try {
    await client.ping();
  } finally {
    client.disconnect();
  }
}
