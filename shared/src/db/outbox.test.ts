import { createTestDatabase, newTask, openTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Database, insertProject, insertTasks, releaseDue, takeUnclaimed, takeWaiting } from "./index.ts";

let database: TestDatabase;
let db: Database;
let projectId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  ({ db, projectId } = await openTestDatabase(database.url));
});

beforeEach(async () => {
  await db.deleteFrom("outbox").execute();
});

afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const many = (count: number, project = projectId, priority = 0) =>
  Array.from({ length: count }, () => newTask(project, { priority }));

describe("the outbox", () => {
  it("lets only a window of a batch into the queue and keeps the rest", async () => {
    const { inserted, toEnqueue } = await insertTasks(db, many(100), 10);
    expect(inserted.size).toBe(100);
    expect(toEnqueue).toHaveLength(10);
    expect(await takeWaiting(db, "isolate", 10)).toHaveLength(0);
    expect(await takeWaiting(db, "isolate", 25)).toHaveLength(15);
  });

  it("gives a second project its own window, however long the first one's queue is", async () => {
    await insertTasks(db, many(50), 0);
    const other = await insertProject(db, "other");
    await insertTasks(db, many(3, other.id), 0);
    const fed = await takeWaiting(db, "isolate", 5);
    expect(fed).toHaveLength(8);
  });

  it("feeds the most urgent first", async () => {
    await insertTasks(db, [...many(5), ...many(1, projectId, 900), ...many(1, projectId, 10)], 0);
    const fed = await takeWaiting(db, "isolate", 2);
    expect(fed.map((job) => job.priority)).toEqual([900, 10]);
  });

  it("two feeders at once never take the same row", async () => {
    await insertTasks(db, many(200), 0);
    const [a, b] = await Promise.all([takeWaiting(db, "isolate", 100), takeWaiting(db, "isolate", 100)]);
    const ids = [...a, ...b].map((job) => job.taskId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("keeps a delayed task back until its time", async () => {
    const task = newTask(projectId, { runAt: new Date(Date.now() + 3_600_000) });
    expect((await insertTasks(db, [task], 10)).toEnqueue).toHaveLength(0);
    await releaseDue(db);
    expect(await takeWaiting(db, "isolate", 10)).toHaveLength(0);
    await db
      .updateTable("outbox")
      .set({ run_at: new Date(0) })
      .where("task_id", "=", task.id)
      .execute();
    await releaseDue(db);
    expect((await takeWaiting(db, "isolate", 10)).map((job) => job.taskId)).toEqual([task.id]);
  });

  it("finds the jobs that a flushed queue has lost", async () => {
    const { toEnqueue } = await insertTasks(db, many(3), 10);
    expect(await takeUnclaimed(db, 5_000, 100)).toHaveLength(0);
    await db
      .updateTable("outbox")
      .set({ enqueued_at: new Date(0) })
      .execute();
    expect(await takeUnclaimed(db, 5_000, 100)).toHaveLength(toEnqueue.length);
    expect(await takeUnclaimed(db, 5_000, 100)).toHaveLength(0);
  });

  it("inserts one of two tasks with the same idempotency key, also within one statement", async () => {
    const twins = [1, 2].map(() => newTask(projectId, { idempotencyKey: "twin", fingerprint: Buffer.from("x") }));
    expect((await insertTasks(db, twins, 10)).inserted.size).toBe(1);
  });
});
