import { topics } from "@airlock/shared/contracts";
import { cancelTasks, publishProviders } from "@airlock/shared/db";
import { describeWithRedis, type RedisServer, startRedisServer } from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { flushRedis, takeJobs } from "../../testing/queue.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { startSweeper } from "./sweeper.ts";

const LOST_AFTER_MS = 10_000;
const patience = { timeout: 30_000 };
let worker: TestWorker;
let sweepers: { stop(): Promise<void> }[] = [];

function sweep(): void {
  sweepers.push(startSweeper(worker.context, LOST_AFTER_MS));
}

async function close(): Promise<void> {
  await Promise.all(sweepers.map((sweeper) => sweeper.stop()));
  sweepers = [];
  await worker.close();
}

/** As if all that is enqueued had been so for an hour. */
async function age(): Promise<void> {
  await sql`update outbox set enqueued_at = now() - interval '1 hour' where enqueued_at is not null`.execute(
    worker.context.db,
  );
}

describe("the sweeper", () => {
  beforeEach(async () => {
    worker = await openTestWorker();
  });
  afterEach(close);

  it("takes the task of a lost worker over, and after five losses in a row fails it with WORKER_LOST", async () => {
    const announced: string[] = [];
    await worker.context.bus.subscribe(topics.events, (pairs) => announced.push(...pairs.map(([id]) => id)));
    const id = await worker.submit();
    sweep();
    for (const losses of [1, 2, 3, 4, 5]) {
      const lost = await worker.newWorker();
      await worker.claim(id, lost);
      announced.length = 0;
      await worker.silence(lost);
      await expect
        .poll(() => worker.task(id), patience)
        .toMatchObject({ losses, status: losses < 5 ? "QUEUED" : "FAILED" });
      const row = worker.context.db.selectFrom("workers").select("state").where("id", "=", lost);
      expect(await row.executeTakeFirst()).toEqual({ state: "LOST" });
    }
    expect(await worker.task(id)).toMatchObject({ error_code: "WORKER_LOST", worker_id: null });
    await expect.poll(() => announced, patience).toContain(id);
  });

  it("feeds what it took over to the queue again, under a new job number", async () => {
    const lost = await worker.newWorker();
    const id = await worker.submit();
    await worker.claim(id, lost);
    await worker.silence(lost);
    sweep();
    expect(await takeJobs(worker.context.queues, 1)).toEqual([id]);
    expect(await worker.task(id)).toMatchObject({ status: "QUEUED", job: 2 });
  });

  it("two workers that sweep at once count one loss, and leave a living worker's task alone", async () => {
    const [lost, alive] = [await worker.newWorker(), await worker.newWorker()];
    const [taken, kept] = [await worker.submit(), await worker.submit()];
    await worker.claim(taken, lost);
    await worker.claim(kept, alive);
    await worker.silence(lost);
    sweep();
    sweep();
    await expect.poll(() => worker.task(taken), patience).toMatchObject({ status: "QUEUED" });
    await sweepOnceMore();
    expect(await worker.task(taken)).toMatchObject({ losses: 1 });
    expect(await worker.task(kept)).toMatchObject({ status: "RUNNING", losses: 0 });
  });

  it("writes CANCELLED for a lost worker that was told to cancel", async () => {
    const lost = await worker.newWorker();
    const id = await worker.submit();
    await worker.claim(id, lost);
    await cancelTasks(worker.context.db, worker.projectId, { taskId: id });
    await worker.silence(lost);
    sweep();
    await expect.poll(() => worker.task(id), patience).toMatchObject({ status: "CANCELLED" });
  });

  it("enqueues a delayed task when it is due, and ends one that nobody started in time", async () => {
    const due = await worker.submit({ runAt: new Date(Date.now() + 3600_000) });
    const late = await worker.submit({ queueTtlMs: 1 }, 0);
    await sql`update outbox set run_at = now() where task_id = ${due}`.execute(worker.context.db);
    sweep();
    expect(await takeJobs(worker.context.queues, 1)).toEqual([due]);
    await expect
      .poll(() => worker.task(late), patience)
      .toMatchObject({ status: "TIMED_OUT", error_code: "QUEUE_EXPIRED" });
  });
});

describe("sleepers", () => {
  beforeEach(async () => {
    worker = await openTestWorker();
  });
  afterEach(close);

  it("wake when they are due, not with the next sweep", async () => {
    const { db } = worker.context;
    const ids: string[] = [];
    for (let i = 0; i < 9; i++) ids.push((await worker.claim(await worker.submit())).id);
    const nothing = { calls: [], updates: [], approvals: [], events: [], outputChars: 0, activeMs: 0, end: null };
    for (const taskId of ids) {
      const parking = { wakes: 0, wakeAt: new Date(), waitingFor: "timer", kept: null };
      await worker.context.store.write({ ...nothing, taskId, fence: 1, parking });
    }
    // Nine moments of one second, in the middle of the second after next.
    await sql`
      update tasks t set wake_at = now() + interval '2.5 seconds' + n.ordinality * interval '0.11 seconds'
      from unnest(${ids}::uuid[]) with ordinality as n (id, ordinality) where t.id = n.id
    `.execute(db);
    const due = new Map(
      (await db.selectFrom("tasks").select(["id", "wake_at"]).execute()).map((row) => [row.id, row.wake_at]),
    );
    sweep();
    const woken = () => db.selectFrom("outbox").select(["task_id", "since"]).execute();
    await expect.poll(async () => (await woken()).length, patience).toBe(ids.length);
    const late = (await woken()).map(({ task_id, since }) => since.getTime() - (due.get(task_id)?.getTime() ?? 0));
    late.sort((a, b) => a - b);
    expect(late[0]).toBeGreaterThanOrEqual(0);
    // The median: by sweeps alone it is half a second.
    expect(late[4]).toBeLessThan(250);
  });
});

describe("a provider that no worker can prove", () => {
  beforeEach(async () => {
    worker = await openTestWorker();
  });
  afterEach(close);

  const capabilities = {
    languages: ["PYTHON"],
    keptBy: "replay",
    workArea: true,
    outlivesWorker: true,
    retains: false,
  } as const;
  const publish = (workerId: string, name: string, reason: string | null) =>
    publishProviders(worker.context.db, workerId, [
      { name, capabilities, configSchema: "{}", isolation: reason === null ? "{}" : null, reason },
    ]);

  it("ends its tasks with the worker's reason; tasks wait where a worker had it lately, or none has spoken", async () => {
    const [here, gone] = [await worker.newWorker(), await worker.newWorker()];
    await publish(here, "unproved", "pids are not limited");
    await publish(here, "restarting", "no engine");
    await publish(gone, "restarting", null);
    await sql`update workers set state = 'STOPPED' where id = ${gone}`.execute(worker.context.db);
    const refused = await worker.submit({ provider: "unproved" });
    const delayed = await worker.submit({ provider: "unproved", runAt: new Date(Date.now() + 3600_000) });
    const [waiting, unspoken] = [
      await worker.submit({ provider: "restarting" }),
      await worker.submit({ provider: "unheard" }),
    ];
    sweep();
    await expect
      .poll(() => worker.task(refused), patience)
      .toMatchObject({ status: "FAILED", error_code: "ISOLATION_UNAVAILABLE" });
    expect((await worker.task(refused)).error_message).toContain("pids are not limited");
    for (const id of [delayed, waiting, unspoken]) expect(await worker.task(id)).toMatchObject({ status: "QUEUED" });
  });

  it("its tasks wait where that worker is gone: nobody can say that it is in vain", async () => {
    const silent = await worker.newWorker();
    await publish(silent, "unproved", "pids are not limited");
    await worker.silence(silent);
    const id = await worker.submit({ provider: "unproved" });
    sweep();
    // Looks for such providers come every fifth sweep.
    for (let sweeps = 0; sweeps < 6; sweeps += 1) await sweepOnceMore();
    expect(await worker.task(id)).toMatchObject({ status: "QUEUED" });
  });
});

/** A later task has been swept: so has everything before it. */
async function sweepOnceMore(): Promise<void> {
  const lost = await worker.newWorker();
  const marker = await worker.submit();
  await worker.claim(marker, lost);
  await worker.silence(lost);
  await expect.poll(() => worker.task(marker), patience).toMatchObject({ status: "QUEUED" });
}

/** The one suite that both backends pass. */
function flushed(flush: () => Promise<unknown>): void {
  afterEach(close);

  it("the sweeper adds again what the queue has lost, and each task comes once", async () => {
    const ids = new Set<string>();
    for (let i = 0; i < 20; i++) ids.add(await worker.submit({ priority: i }, 0));
    await worker.context.feeder.feed();
    await flush();
    await age();
    sweep();
    expect(new Set(await takeJobs(worker.context.queues, 20))).toEqual(ids);
  });

  it("a job that is still there is not doubled by being added again", async () => {
    const first = await worker.submit({}, 0);
    await worker.context.feeder.feed();
    await age();
    sweep();
    await expect.poll(enqueuedLately, patience).toBe(true);
    await worker.submit({}, 0);
    const taken = await takeJobs(worker.context.queues, 2);
    expect(new Set(taken).size).toBe(2);
    expect(taken).toContain(first);
  });
}

async function enqueuedLately(): Promise<boolean> {
  const rows = await sql`select from outbox where enqueued_at > now() - interval '1 minute'`.execute(worker.context.db);
  return rows.rows.length > 0;
}

describe("a queue on Postgres that lost its jobs", () => {
  beforeEach(async () => {
    worker = await openTestWorker();
  });
  flushed(() => sql`truncate bullmq.job cascade`.execute(worker.context.db));
});

describeWithRedis("a queue on Redis after FLUSHALL", () => {
  // A server of its own: a flush takes everybody's jobs.
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedisServer();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    worker = await openTestWorker(redis.url);
  });
  flushed(() => flushRedis(redis.url));
});
