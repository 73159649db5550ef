import { insertProject, insertTasks, setRetention } from "@airlock/shared/db";
import { newTask } from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { startRetention } from "./retention.ts";

let worker: TestWorker;
let retention: { stop(): Promise<void> } | null = null;
beforeEach(async () => {
  worker = await openTestWorker();
});
afterEach(async () => {
  await retention?.stop();
  retention = null;
  await worker.close();
});

/** A UUIDv7 of 40 days ago. */
function oldId(n: number): string {
  const hex = (Date.now() - 40 * 86_400_000).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, "0")}`;
}

/** Tasks submitted 40 days ago that ended `daysAgo`; null: they have not ended. */
async function insertOld(
  from: number,
  count: number,
  daysAgo: number | null,
  projectId = worker.projectId,
): Promise<string[]> {
  const { db } = worker.context;
  const tasks = Array.from({ length: count }, (_, i) =>
    newTask(projectId, { id: oldId(from + i), labels: [["k", '"v"']] }),
  );
  await db.transaction().execute((tx) => insertTasks(tx, tasks, 0));
  const ids = tasks.map((task) => task.id);
  if (daysAgo !== null) {
    await sql`update tasks set status = 'SUCCEEDED', finished_at = now() - ${daysAgo} * interval '1 day' where id = any(${ids}::uuid[])`.execute(
      db,
    );
    await sql`delete from outbox where task_id = any(${ids}::uuid[])`.execute(db);
  }
  return ids;
}

it("deletes ended tasks that are old enough with all their rows, in steps, and nothing else", async () => {
  const { db } = worker.context;
  await insertOld(0, 450, 31);
  const recent = await insertOld(1_000, 3, 29);
  const waiting = await insertOld(2_000, 3, null);
  const fresh = await worker.submit();
  await setRetention(db, worker.projectId, 30);
  retention = startRetention(worker.context);
  const left = async (table: "tasks" | "events" | "task_labels"): Promise<number> =>
    (await db.selectFrom(table).selectAll().execute()).length;
  await expect.poll(() => left("tasks"), { timeout: 30_000 }).toBe(7);
  const kept = await db.selectFrom("tasks").select("id").orderBy("id").execute();
  expect(kept.map((row) => row.id)).toEqual([...recent, ...waiting, fresh].toSorted());
  expect(await left("events")).toBe(7);
  expect(await left("task_labels")).toBe(6);
});

it("keeps everything of a project that says nothing, beside one that does", async () => {
  const { db } = worker.context;
  const tidy = await insertProject(db, "tidy");
  const kept = await insertOld(0, 3, 1_000);
  await insertOld(1_000, 3, 1_000, tidy.id);
  await setRetention(db, tidy.id, 1);
  retention = startRetention(worker.context);
  const ids = async (): Promise<string[]> =>
    (await db.selectFrom("tasks").select("id").orderBy("id").execute()).map((row) => row.id);
  await expect.poll(ids, { timeout: 30_000 }).toEqual(kept);
});
