import { type Database, insertTasks, type TaskRow } from "@airlock/shared/db";
import { createLogger } from "@airlock/shared/runtime";
import { createTestDatabase, newTask, openTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import type { KyselyPlugin } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runTask } from "../../testing/running-task.ts";
import { createTaskWatch } from "./task-watch.ts";

let database: TestDatabase;
let opened: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await createTestDatabase();
  opened = await openTestDatabase(database.url);
});
afterAll(async () => {
  await opened.db.destroy();
  await database.drop();
});

const log = createLogger({ program: "task-watch-test", level: "silent" });
const CODE = "x".repeat(100_000);

/** Counts the tasks that are read with their code. */
function counting(db: Database) {
  let whole = 0;
  let looks = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      looks += 1;
      whole += result.rows.filter((row) => row["code"] !== undefined).length;
      return result;
    },
  };
  return { db: db.withPlugin(plugin), whole: () => whole, looks: () => looks };
}

test("a look at the whole list reads only those tasks as a whole that have changed", async () => {
  const { projectId } = opened;
  const tasks = Array.from({ length: 120 }, () => newTask(projectId, { code: CODE }));
  await insertTasks(opened.db, tasks, 0);
  const ids = tasks.map(({ id }) => id).toSorted();
  const running = await runTask(opened.db, null, projectId);
  const counted = counting(opened.db);
  const watch = createTaskWatch({ db: counted.db, log });
  const updates = (await watch.follow(projectId, {}, 3))[Symbol.asyncIterator]();
  const take = async (): Promise<TaskRow> => (await updates.next()).value as TaskRow;
  const latest = [await take(), await take(), await take()];
  expect(latest.map(({ id }) => id)).toEqual([...ids.slice(-2), running.id]);
  const next = take();
  const before = counted.looks();
  watch.check();
  await expect.poll(() => counted.looks()).toBeGreaterThan(before);
  await running.succeed();
  watch.check();
  expect(await next).toMatchObject({ id: running.id, status: "SUCCEEDED" });
  expect(counted.whole()).toBe(4);
  await updates.return?.();
});

test("many changes at once are all shown, a few in memory at a time", async () => {
  const { projectId } = opened;
  const watch = createTaskWatch({ db: opened.db, log });
  const updates = (await watch.follow(projectId, {}, 0))[Symbol.asyncIterator]();
  const tasks = Array.from({ length: 50 }, () => newTask(projectId, { code: CODE }));
  await insertTasks(opened.db, tasks, 0);
  const ids = tasks.map(({ id }) => id);
  watch.hint(ids);
  const shown: string[] = [];
  while (shown.length < ids.length) shown.push(((await updates.next()).value as TaskRow).id);
  expect(shown.toSorted()).toEqual(ids.toSorted());
  await updates.return?.();
});
