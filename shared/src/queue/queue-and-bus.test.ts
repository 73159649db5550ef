import {
  createTestDatabase,
  describeWithRedis,
  type RedisServer,
  startRedisServer,
  type TestDatabase,
} from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Bus, createBus } from "../bus/index.ts";
import { newId, type TaskJob, type TopicPayload, topics } from "../contracts/index.ts";
import { type Backend, createTaskQueues, prepareBackend, type TaskQueues } from "./index.ts";

const fail = (error: Error): void => {
  throw error;
};

function job(priority = 0): { taskId: string; provider: string; job: number; priority: number } {
  return { taskId: newId(), provider: "isolate", job: 1, priority };
}

/** The one suite that both backends pass. */
function suite(open: () => Promise<Backend>): void {
  let backend: Backend;
  let queues: TaskQueues;
  let bus: Bus;

  beforeAll(async () => {
    backend = await open();
    await prepareBackend(backend);
    queues = createTaskQueues(backend, fail);
    bus = createBus(backend, fail);
  });

  afterAll(async () => {
    await queues.close();
    await bus.close();
  });

  /** Consumes until `count` jobs have come. */
  async function consume(provider: string, count: number): Promise<TaskJob[]> {
    const seen: TaskJob[] = [];
    let done: () => void = () => undefined;
    const enough = new Promise<void>((resolve) => {
      done = resolve;
    });
    const consumer = queues.consume(
      provider,
      (next) => {
        seen.push(next);
        if (seen.length === count) done();
        return Promise.resolve();
      },
      { concurrency: 1, onError: fail },
    );
    await enough;
    await consumer.close();
    return seen;
  }

  it("delivers each job with its ids and nothing else", async () => {
    const jobs = [job(), job(), job()];
    await queues.add(jobs);
    const seen = await consume("isolate", 3);
    expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(
      new Set(jobs.map(({ taskId, job: n }) => JSON.stringify({ taskId, job: n }))),
    );
  });

  it("serves higher priorities first, and priority 0 last", async () => {
    const jobs = [job(0), job(500), job(999), job(1)];
    await queues.add(jobs);
    const seen = await consume("isolate", 4);
    const order = seen.map(({ taskId }) => jobs.find((each) => each.taskId === taskId)?.priority);
    expect(order).toEqual([999, 500, 1, 0]);
  });

  it("takes a job that is there already as no news, and the same id again once it is gone", async () => {
    const once = job();
    await queues.add([once]);
    await queues.add([once]);
    expect(await consume("isolate", 1)).toHaveLength(1);
    await queues.add([once]);
    expect(await consume("isolate", 1)).toHaveLength(1);
  });

  const carried = async <T extends typeof topics.events | typeof topics.approvals>(
    topic: T,
    items: TopicPayload<T>,
  ): Promise<unknown[]> => {
    const heard: unknown[] = [];
    const complete = Promise.withResolvers<void>();
    const unsubscribe = await bus.subscribe(topic, (part) => {
      heard.push(...part);
      if (heard.length === items.length) complete.resolve();
    });
    await bus.publish(topic, items);
    await complete.promise;
    await unsubscribe();
    return heard;
  };

  it("carries a message to every subscriber, cut so that each fits NOTIFY, whatever its items are", async () => {
    const events = Array.from({ length: 250 }, (_, seq): [string, number] => [newId(), seq * 1e9]);
    expect(await carried(topics.events, events)).toEqual(events);
    const approvals = Array.from({ length: 250 }, (): [string, string] => [newId(), newId()]);
    expect(await carried(topics.approvals, approvals)).toEqual(approvals);
  });

  it("answers a ping for each provider while it works", async () => {
    await queues.ping(["isolate", "another"]);
    await bus.ping();
  });
}

describe("queue and bus on Postgres", () => {
  let database: TestDatabase;
  afterAll(() => database.drop());
  suite(async () => {
    database = await createTestDatabase();
    return { kind: "postgres", url: database.url };
  });
});

describeWithRedis("queue and bus on Redis", () => {
  // A server of its own: pub/sub topics are shared by all logical databases of one.
  let own: RedisServer;
  afterAll(() => own.stop());
  suite(async () => {
    own = await startRedisServer();
    return { kind: "redis", url: own.url };
  });

  it("refuses a Redis that may evict jobs, and says what to do", async () => {
    const server = await startRedisServer(["--maxmemory-policy", "allkeys-lru"]);
    try {
      await expect(prepareBackend({ kind: "redis", url: server.url })).rejects.toThrow(/noeviction/);
    } finally {
      await server.stop();
    }
  });
});
