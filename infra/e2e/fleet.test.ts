import { setTimeout as sleep } from "node:timers/promises";
import {
  createTestDatabase,
  describeWithRedis,
  endProcess,
  type Fleet,
  startFleet,
  startRedisServer,
  type RedisServer,
  type TestDatabase,
} from "@airlock/shared/testing";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ended, oneTo, printed, run, seqs, submit, until } from "./tasks.ts";

/** Short periods, so that a lost worker is noticed within the test. */
const QUICK = { AIRLOCK_HEARTBEAT_MS: "300", AIRLOCK_LOST_AFTER_MS: "1500", AIRLOCK_CONCURRENCY: "8" };

/** Prints a line at a time, with its own random numbers, slowly enough to be killed in between. */
const SLOW = `
  for (let i = 0; i < 12; i++) {
    console.log("line " + i + " " + Math.random());
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return "done";
`;

function fleetSuite(open: () => Promise<{ databaseUrl: string; redisUrl: string | null }>): void {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await startFleet({ ...(await open()), workers: 2, env: QUICK });
  });

  afterAll(() => fleet.stop());

  it("says how many tasks have finished lately, failed ones too", async () => {
    const finished = async (): Promise<number> => {
      const query = "{ queueStats { finishedLastFiveMinutes } }";
      return (await fleet.api<{ queueStats: { finishedLastFiveMinutes: number } }>(query)).queueStats
        .finishedLastFiveMinutes;
    };
    for (const code of ["return 1", "throw new Error('no')", "return 2"]) await run(fleet.api, code);
    await expect.poll(finished, { timeout: 30_000 }).toBe(3);
  });

  it("runs the first task, in TypeScript, with its input, and reports the walls around it", async () => {
    const task = await run(fleet.api, "const x: number = input.x; console.log('hello'); return x + 1", {
      input: { x: 41 },
    });
    expect(task).toMatchObject({ status: "SUCCEEDED", output: 42, segments: 1, error: null });
    expect(task.events.map((event) => event.type)).toEqual([
      "task.queued",
      "task.started",
      "task.output",
      "task.succeeded",
    ]);
    expect(seqs(task)).toEqual([1, 2, 3, 4]);
    expect(printed(task)).toBe("hello\n");
    expect(task.isolation).toMatchObject({ provider: "isolate", level: "wasm" });
  });

  it("finishes a task whose worker is killed with -9, without a gap, a repeat or a lost line", async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => submit(fleet.api, { code: SLOW })));
    await Promise.all(ids.map((id) => until(fleet.api, id, (task) => printed(task).includes("line 2"))));
    const [victim] = fleet.workers.splice(0, 1);
    victim?.kill("SIGKILL");
    const tasks = await Promise.all(ids.map((id) => ended(fleet.api, id)));
    for (const task of tasks) {
      expect(task).toMatchObject({ status: "SUCCEEDED", output: "done" });
      expect(seqs(task)).toEqual(oneTo(task.events.length));
      const lines = printed(task).trimEnd().split("\n");
      expect(lines.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(oneTo(12).map((n) => `line ${n - 1}`));
    }
    expect(tasks.some((task) => task.segments === 2)).toBe(true);
    await fleet.addWorker();
  });

  it("a frozen worker that comes back does not write over its successor", async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => submit(fleet.api, { code: SLOW })));
    await Promise.all(ids.map((id) => until(fleet.api, id, (task) => printed(task).includes("line 1"))));
    const frozen = fleet.workers[0];
    frozen?.kill("SIGSTOP");
    const tasks = await Promise.all(ids.map((id) => ended(fleet.api, id)));
    frozen?.kill("SIGCONT");
    await sleep(1_000);
    for (const task of tasks) {
      const later = await ended(fleet.api, task.id);
      expect(later).toEqual(task);
      expect(seqs(later)).toEqual(oneTo(later.events.length));
    }
  });

  it("hands running tasks over when a worker drains, and that worker exits with 0", async () => {
    const code = "await new Promise((resolve) => setTimeout(resolve, 3000)); return 'over'";
    const ids = await Promise.all(Array.from({ length: 4 }, () => submit(fleet.api, { code })));
    await Promise.all(ids.map((id) => until(fleet.api, id, (task) => task.status === "RUNNING")));
    const [leaver] = fleet.workers.splice(0, 1);
    expect(leaver && (await endProcess(leaver))).toBe(0);
    for (const id of ids) expect(await ended(fleet.api, id)).toMatchObject({ status: "SUCCEEDED", output: "over" });
    await fleet.addWorker();
  });

  it("cancels a running task, and the event is its last", async () => {
    const id = await submit(fleet.api, { code: "while (true) {}" });
    await until(fleet.api, id, (task) => task.status === "RUNNING");
    await fleet.api("mutation ($id: ID!) { cancelTask(id: $id) { status } }", { id });
    const task = await ended(fleet.api, id);
    expect(task).toMatchObject({ status: "CANCELLED", error: { code: "CANCELLED" } });
    expect(task.events.at(-1)?.type).toBe("task.cancelled");
  });

  it("starts a delayed task only at its time, and ends one that nobody started in time", async () => {
    const runAt = new Date(Date.now() + 2_000);
    const [delayed, expired] = await Promise.all([
      submit(fleet.api, { code: "return Date.now()", runAt: runAt.toISOString() }),
      submit(fleet.api, { code: "return 1", runAt: new Date(Date.now() + 3_600_000).toISOString() }),
    ]);
    const task = await ended(fleet.api, delayed);
    expect(task.output).toBeGreaterThanOrEqual(runAt.getTime());
    expect((await until(fleet.api, expired, () => true)).status).toBe("QUEUED");
  });
}

describe("a fleet on Postgres alone", () => {
  let database: TestDatabase;
  afterAll(() => database.drop());
  fleetSuite(async () => {
    database = await createTestDatabase();
    return { databaseUrl: database.url, redisUrl: null };
  });
});

describeWithRedis("a fleet on Postgres and Redis", () => {
  let database: TestDatabase;
  let redis: RedisServer;
  afterAll(async () => {
    await redis.stop();
    await database.drop();
  });
  fleetSuite(async () => {
    database = await createTestDatabase();
    redis = await startRedisServer();
    return { databaseUrl: database.url, redisUrl: redis.url };
  });
});

describeWithRedis("a Redis that forgets everything", () => {
  it("FLUSHALL in the middle of a batch loses no task and runs none twice", async () => {
    const database = await createTestDatabase();
    const redis = await startRedisServer();
    const fleet = await startFleet({
      databaseUrl: database.url,
      redisUrl: redis.url,
      env: { AIRLOCK_CONCURRENCY: "2" },
    });
    try {
      const tasks = oneTo(60).map((n) => ({ code: `await new Promise((r) => setTimeout(r, 100)); return ${n}` }));
      const { submitBatch } = await fleet.api<{ submitBatch: { id: string } }>(
        "mutation ($input: SubmitBatchInput!) { submitBatch(input: $input) { id } }",
        { input: { tasks } },
      );
      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
      const query =
        "query ($id: ID!) { batch(id: $id) { done counts { succeeded } tasks(first: 100) { edges { node { segments } } } } }";
      for (;;) {
        const { batch } = await fleet.api<{
          batch: { done: boolean; counts: { succeeded: number }; tasks: { edges: { node: { segments: number } }[] } };
        }>(query, { id: submitBatch.id });
        if (batch.done) {
          expect(batch.counts.succeeded).toBe(60);
          expect(batch.tasks.edges.map((edge) => edge.node.segments)).toEqual(oneTo(60).map(() => 1));
          break;
        }
        await sleep(200);
      }
    } finally {
      await fleet.stop();
      await redis.stop();
      await database.drop();
    }
  });
});
