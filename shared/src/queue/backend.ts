import { createPostgresBackend, Queue, type Processor, runMigrations, Worker, type WorkerOptions } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";

/** Keys of one BullMQ queue must share a hash slot on a Redis Cluster. */
export const REDIS_PREFIX = "{airlock}";

/** Where jobs and bus messages live. Chosen here and nowhere else. */
export type Backend = { readonly kind: "redis" | "postgres"; readonly url: string };

export function chooseBackend(urls: { redisUrl: string | null; databaseUrl: string }): Backend {
  return urls.redisUrl === null ? { kind: "postgres", url: urls.databaseUrl } : { kind: "redis", url: urls.redisUrl };
}

/** What the two backends make differently; the rest of the queue is the same code. */
export interface BullFactory {
  queue<T>(name: string): Queue<T>;
  worker<T>(name: string, processor: Processor<T>, options: Omit<WorkerOptions, "connection">): Worker<T>;
}

const queueOptions = {
  prefix: REDIS_PREFIX,
  // Nobody reads BullMQ's own event stream: the event log is in Postgres.
  streams: { events: { maxLen: 100 } },
  defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
};

export function createBullFactory(backend: Backend): BullFactory {
  if (backend.kind === "redis") {
    return {
      // A producer fails fast: the outbox keeps what could not be enqueued.
      queue: <T>(name: string) =>
        new Queue<T>(name, {
          ...queueOptions,
          connection: { url: backend.url, maxRetriesPerRequest: 1 },
          skipWaitingForReady: true,
        }),
      worker: <T>(name: string, processor: Processor<T>, options: Omit<WorkerOptions, "connection">) =>
        new Worker<T>(name, processor, {
          ...options,
          prefix: REDIS_PREFIX,
          connection: { url: backend.url, maxRetriesPerRequest: null },
        }),
    };
  }
  const connection = { connectionString: backend.url, max: 4 };
  return {
    queue: <T>(name: string) =>
      new Queue(name, { ...queueOptions, connection }, createPostgresBackend) as unknown as Queue<T>,
    worker: <T>(name: string, processor: Processor<T>, options: Omit<WorkerOptions, "connection">) =>
      new Worker(
        name,
        processor as Processor,
        { ...options, connection },
        createPostgresBackend,
      ) as unknown as Worker<T>,
  };
}

/** Start-up check: makes BullMQ's own schema, or refuses a Redis that may throw jobs away. */
export async function prepareBackend(backend: Backend): Promise<void> {
  if (backend.kind === "redis") await refuseEviction(backend.url);
  else await migrateBull(backend.url);
}

async function migrateBull(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}

/** INFO and not CONFIG, which managed Redis services forbid. */
async function refuseEviction(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null });
  redis.on("error", () => {}); // reported by the rejected call below
  try {
    await redis.connect();
    const info = await redis.info("memory");
    const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1];
    if (policy !== undefined && policy !== "noeviction") {
      throw new Error(
        `Redis has maxmemory-policy "${policy}" and may throw queued jobs away; ` +
          `set it with "CONFIG SET maxmemory-policy noeviction" (or in redis.conf) and start again`,
      );
    }
  } finally {
    redis.disconnect();
  }
}
