import { setTimeout as sleep } from "node:timers/promises";
import { cancelTasks, listEvents, recoverFromLostWorkers } from "@airlock/shared/db";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { type Heartbeat, startHeartbeat } from "./heartbeat.ts";

const PERIOD = { periodMs: 20, freshMs: 60_000 };
const patience = { timeout: 20_000 };
let worker: TestWorker;
let heart: Heartbeat | undefined;

beforeEach(async () => {
  worker = await openTestWorker();
});

afterEach(async () => {
  await heart?.stop();
  heart = undefined;
  await worker.close();
});

/** A task that this worker has claimed and runs. */
async function runTask() {
  const task = await worker.claim(await worker.submit());
  return worker.context.running.add(task.id, task.segments);
}

const row = () =>
  worker.context.db
    .selectFrom("workers")
    .selectAll()
    .where("id", "=", worker.context.workerId)
    .executeTakeFirstOrThrow();

/** Two beats that began after this was called have ended. */
async function twoBeats(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const { last_seen_at } = await row();
    await expect.poll(async () => (await row()).last_seen_at > last_seen_at, patience).toBe(true);
  }
}

describe("the heartbeat", () => {
  it("says that the worker lives and how much it runs, then that it drains, then that it has stopped", async () => {
    await worker.silence(worker.context.workerId);
    await runTask();
    heart = startHeartbeat(worker.context, PERIOD);
    await expect.poll(row, patience).toMatchObject({ state: "RUNNING", running: 1 });
    expect(await recoverFromLostWorkers(worker.context.db, 60_000)).toEqual([]);
    heart.drain();
    await expect.poll(row, patience).toMatchObject({ state: "DRAINING" });
    await heart.stop();
    expect(await row()).toMatchObject({ state: "STOPPED", running: 0 });
  });

  it("a worker that was given up as lost stops its segments: others own them now", async () => {
    const segments = [await runTask(), await runTask()];
    await worker.silence(worker.context.workerId);
    expect(await recoverFromLostWorkers(worker.context.db, 10_000)).toHaveLength(2);
    expect(await row()).toMatchObject({ state: "LOST" });
    heart = startHeartbeat(worker.context, PERIOD);
    await expect
      .poll(() => segments.map(({ abort }) => abort.signal.reason as unknown), patience)
      .toEqual(["fenced", "fenced"]);
    await expect.poll(row, patience).toMatchObject({ state: "RUNNING" });
  });

  it("a worker whose row is gone stops its segments too", async () => {
    const segment = await runTask();
    await worker.context.db.deleteFrom("workers").execute();
    heart = startHeartbeat(worker.context, PERIOD);
    await expect.poll(() => segment.abort.signal.reason as unknown, patience).toBe("fenced");
  });

  it("hears of a cancellation whose message was lost", async () => {
    const [cancelled, other] = [await runTask(), await runTask()];
    await cancelTasks(worker.context.db, worker.projectId, { taskId: cancelled.taskId });
    heart = startHeartbeat(worker.context, PERIOD);
    await expect.poll(() => cancelled.abort.signal.reason as unknown, patience).toBe("cancelled");
    expect(other.abort.signal.aborted).toBe(false);
  });

  it("gives back a task that Postgres thinks runs here, and counts no loss", async () => {
    const task = await worker.claim(await worker.submit());
    heart = startHeartbeat(worker.context, PERIOD);
    await expect.poll(() => worker.task(task.id), patience).toMatchObject({ status: "QUEUED", losses: 0, job: 2 });
    const types = (await listEvents(worker.context.db, task.id, { after: 0, limit: 10 })).map(({ type }) => type);
    expect(types).toEqual(["task.queued", "task.started"]);
  });

  it("leaves alone what does run here, and what runs elsewhere", async () => {
    const here = await runTask();
    const there = await worker.claim(await worker.submit(), await worker.newWorker());
    heart = startHeartbeat(worker.context, PERIOD);
    await twoBeats();
    expect(await worker.task(here.taskId)).toMatchObject({ status: "RUNNING" });
    expect(await worker.task(there.id)).toMatchObject({ status: "RUNNING" });
    expect(here.abort.signal.aborted).toBe(false);
  });

  it("gives back an older segment of a task that runs here again", async () => {
    const task = await worker.claim(await worker.submit());
    worker.context.running.add(task.id, task.segments - 1);
    heart = startHeartbeat(worker.context, PERIOD);
    await expect.poll(() => worker.task(task.id), patience).toMatchObject({ status: "QUEUED", losses: 0 });
  });

  it("a worker whose beats do not reach Postgres is not fresh, until one does", async () => {
    let away = true;
    const failures: unknown[] = [];
    const log = worker.context.log.child({});
    log.warn = (fields: unknown) => void failures.push(fields);
    const running = Object.defineProperty({ ...worker.context.running }, "count", {
      get: () => {
        if (away) throw new Error("Postgres is away");
        return 5;
      },
    });
    heart = startHeartbeat({ ...worker.context, log, running }, { periodMs: 20, freshMs: 2_000 });
    await expect.poll(() => failures.length, patience).toBeGreaterThan(1);
    await sleep(2_000);
    let fresh = false;
    const stopping = new AbortController();
    const waiting = heart.isFresh(new AbortController().signal).then(() => (fresh = true));
    const givenUp = heart.isFresh(stopping.signal);
    stopping.abort();
    await givenUp;
    expect(fresh).toBe(false);
    away = false;
    await waiting;
    expect(await row()).toMatchObject({ running: 5 });
  });
});
