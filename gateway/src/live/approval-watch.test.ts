import { setTimeout as sleep } from "node:timers/promises";
import type { ApprovalRow, Database } from "@airlock/shared/db";
import { createLogger } from "@airlock/shared/runtime";
import { createTestDatabase, openTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import { type KyselyPlugin, sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parkTasks } from "../../testing/parked-task.ts";
import { createApprovalWatch } from "./approval-watch.ts";

let database: TestDatabase;
let opened: Awaited<ReturnType<typeof openTestDatabase>>;
beforeEach(async () => {
  database = await createTestDatabase();
  opened = await openTestDatabase(database.url);
});
afterEach(async () => {
  await opened.db.destroy();
  await database.drop();
});

const log = createLogger({ program: "approval-watch-test", level: "silent" });

function counting(db: Database) {
  let asked = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      asked += 1;
      return result;
    },
  };
  return { db: db.withPlugin(plugin), asked: () => asked };
}

function follow(watch: ReturnType<typeof createApprovalWatch>) {
  const updates = watch.follow(opened.projectId)[Symbol.asyncIterator]();
  const take = async (): Promise<string> => {
    const { id, status } = (await updates.next()).value as ApprovalRow;
    return `${id} ${status}`;
  };
  return { take, close: () => updates.return?.() };
}

async function deny(ids: readonly string[]): Promise<void> {
  await sql`update approvals set status = 'DENIED', decided_at = now() where id = any(${ids}::uuid[])`.execute(
    opened.db,
  );
}

/** Asks and decides, and hints at it unless the hints are lost. */
async function askAndDecide(count: number, hint: (taskIds: readonly string[]) => void): Promise<string[]> {
  const tasks = await parkTasks(opened.db, opened.projectId, count);
  const approvals = tasks.map(({ approval }) => approval.id);
  await deny(approvals);
  hint(tasks.map(({ id }) => id));
  return approvals;
}

const both = (ids: readonly string[]): string[] => ids.flatMap((id) => [`${id} PENDING`, `${id} DENIED`]);

test.each([
  ["a few", 20],
  ["more than are kept for it", 1_500],
])("a reader that stops for a while misses nothing: %s asked for and decided meanwhile", async (_, count) => {
  const watch = createApprovalWatch({ db: opened.db, log });
  const [first] = await parkTasks(opened.db, opened.projectId, 1);
  const follower = follow(watch);
  expect(await follower.take()).toBe(`${first?.approval.id} PENDING`);
  const asked: string[] = [];
  for (let i = 0; i < 2; i += 1) {
    asked.push(...(await askAndDecide(count / 2, (taskIds) => watch.hint(taskIds))));
    // Longer than a hint takes.
    await sleep(200);
    watch.check();
  }
  await deny([first?.approval.id ?? ""]);
  watch.check();
  const got = [];
  while (got.length < 2 * count + 1) got.push(await follower.take());
  expect(got.toSorted()).toEqual([`${first?.approval.id} DENIED`, ...both(asked)].toSorted());
  await follower.close();
});

test("what was asked for and decided while no hint came through is found", async () => {
  const watch = createApprovalWatch({ db: opened.db, log });
  const [first] = await parkTasks(opened.db, opened.projectId, 1);
  const follower = follow(watch);
  expect(await follower.take()).toBe(`${first?.approval.id} PENDING`);
  const asked = await askAndDecide(3, () => undefined);
  watch.check();
  for (const expected of both(asked)) expect(await follower.take()).toBe(expected);
  await follower.close();
});

test("what was decided before is not told, also where its task has news", async () => {
  const watch = createApprovalWatch({ db: opened.db, log });
  const old = await parkTasks(opened.db, opened.projectId, 2);
  await deny(old.map(({ approval }) => approval.id));
  const [pending] = await parkTasks(opened.db, opened.projectId, 1);
  const follower = follow(watch);
  expect(await follower.take()).toBe(`${pending?.approval.id} PENDING`);
  watch.hint(old.map(({ id }) => id));
  watch.check();
  const asked = await askAndDecide(1, (taskIds) => watch.hint(taskIds));
  for (const expected of both(asked)) expect(await follower.take()).toBe(expected);
  await follower.close();
});

test("those who follow an idle project are compared with Postgres once for all", async () => {
  const counted = counting(opened.db);
  const watch = createApprovalWatch({ db: counted.db, log });
  await parkTasks(opened.db, opened.projectId, 5);
  const followers = Array.from({ length: 20 }, () => follow(watch));
  for (const { take } of followers) for (let i = 0; i < 5; i += 1) await take();
  const next = followers.map(({ take }) => take());
  const before = counted.asked();
  watch.check();
  await expect.poll(counted.asked).toBeGreaterThan(before);
  const [news] = await askAndDecide(1, () => undefined);
  watch.check();
  expect(new Set(await Promise.all(next))).toEqual(new Set([`${news} PENDING`]));
  expect(counted.asked() - before).toBeLessThanOrEqual(3);
  for (const { close } of followers) await close();
});
