import { insertProject, insertTasks } from "@airlock/shared/db";
import { FEED_WINDOW } from "@airlock/shared/domain";
import { newTask } from "@airlock/shared/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { takeJobs } from "../../testing/queue.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { createFeeder, type Feeder } from "./feeder.ts";

let worker: TestWorker;
let feeder: Feeder;

beforeEach(async () => {
  worker = await openTestWorker();
  feeder = createFeeder(worker.context, ["isolate"]);
});

afterEach(async () => {
  await feeder.stop();
  await worker.close();
});

async function project(weight: number, tasks: number): Promise<string> {
  const { db } = worker.context;
  const { id } = await insertProject(db, `weight ${weight}`);
  await db.updateTable("projects").set({ weight }).where("id", "=", id).execute();
  await insertTasks(
    db,
    Array.from({ length: tasks }, () => newTask(id)),
    0,
  );
  return id;
}

async function enqueued(projectId: string): Promise<number> {
  const rows = worker.context.db.selectFrom("outbox").select("task_id").where("project_id", "=", projectId);
  return (await rows.where("enqueued_at", "is not", null).execute()).length;
}

describe("the feeder", () => {
  it("lets a window of a project's tasks into the queue, and the rest wait in Postgres", async () => {
    const id = await project(1, FEED_WINDOW + 50);
    await feeder.feed();
    expect(await enqueued(id)).toBe(FEED_WINDOW);
    expect(new Set(await takeJobs(worker.context.queues, FEED_WINDOW)).size).toBe(FEED_WINDOW);
  });

  it("a project with a long queue does not keep another out, and weight widens a window", async () => {
    const [long, short, heavy] = [
      await project(1, FEED_WINDOW * 2),
      await project(1, 3),
      await project(2, FEED_WINDOW * 3),
    ];
    await feeder.feed();
    expect([await enqueued(long), await enqueued(short), await enqueued(heavy)]).toEqual([
      FEED_WINDOW,
      3,
      FEED_WINDOW * 2,
    ]);
  });

  it("a full window takes no more, however often it is fed", async () => {
    const id = await project(1, FEED_WINDOW + 10);
    await feeder.feed();
    await createFeeder(worker.context, ["isolate"]).feed();
    expect(await enqueued(id)).toBe(FEED_WINDOW);
  });

  it("a claim frees a place, which is filled without anyone asking", async () => {
    const id = await project(1, FEED_WINDOW + 2);
    await feeder.feed();
    const rows = await worker.context.db
      .selectFrom("outbox")
      .select("task_id")
      .where("enqueued_at", "is not", null)
      .execute();
    for (const { task_id } of rows.slice(0, 2)) {
      await worker.claim(task_id);
      feeder.noteClaim();
    }
    expect(await enqueued(id)).toBeLessThanOrEqual(FEED_WINDOW);
    await expect.poll(() => enqueued(id), { timeout: 10_000 }).toBe(FEED_WINDOW);
  });

  it("feeds nothing to the queue of a provider that this worker does not have", async () => {
    await worker.submit({ provider: "docker" }, 0);
    await feeder.feed();
    expect(await enqueued(worker.projectId)).toBe(0);
  });

  it("two feeders at once, on two workers, enqueue each task once", async () => {
    const id = await project(1, 100);
    const other = createFeeder(worker.context, ["isolate"]);
    await Promise.all([feeder.feed(), other.feed(), feeder.feed()]);
    expect(await enqueued(id)).toBe(100);
    const taken = await takeJobs(worker.context.queues, 100);
    expect(new Set(taken).size).toBe(100);
  });

  it("a queue that cannot be reached is no failure: the outbox keeps the tasks for the sweeper", async () => {
    const id = await project(1, 5);
    const queues = { ...worker.context.queues, add: () => Promise.reject(new Error("Redis is away")) };
    await createFeeder({ ...worker.context, queues }, ["isolate"]).feed();
    expect(await enqueued(id)).toBe(5);
  });

  it("after its stop a claim starts nothing", async () => {
    const id = await project(1, 5);
    await feeder.stop();
    for (let i = 0; i < FEED_WINDOW; i++) feeder.noteClaim();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await enqueued(id)).toBe(0);
  });
});
