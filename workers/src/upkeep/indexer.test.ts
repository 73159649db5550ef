import { insertTasks, listTasks } from "@airlock/shared/db";
import { newTask } from "@airlock/shared/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { startIndexer } from "./indexer.ts";

const patience = { timeout: 30_000 };
let worker: TestWorker;
let indexers: { stop(): Promise<void> }[] = [];
beforeEach(async () => {
  worker = await openTestWorker();
});
afterEach(async () => {
  await Promise.all(indexers.map((indexer) => indexer.stop()));
  indexers = [];
  await worker.close();
});

async function find(search: string): Promise<number> {
  const { rows } = await listTasks(worker.context.db, worker.projectId, { search }, { limit: 1_000, after: null });
  return rows.length;
}

async function backlog(): Promise<number> {
  return (await worker.context.db.selectFrom("search_backlog").selectAll().execute()).length;
}

it("indexes more than a step, whoever of two does it, each task once", async () => {
  const { db } = worker.context;
  const tasks = Array.from({ length: 450 }, (_, i) => newTask(worker.projectId, { code: `return "needle" + ${i}` }));
  await insertTasks(db, tasks, 0);
  indexers = [startIndexer(worker.context), startIndexer(worker.context)];
  await expect.poll(backlog, patience).toBe(0);
  expect(await find("needle")).toBe(450);
});

it("a failed task is found by its error, and still by its code", async () => {
  const { store } = worker.context;
  const id = await worker.submit({ code: "throw new Error('wrecked')" });
  indexers = [startIndexer(worker.context)];
  await expect.poll(backlog, patience).toBe(0);
  const { segments: fence } = await worker.claim(id);
  const failure = { code: "GUEST_ERROR", message: "TypeError: stranded" } as const;
  const nothing = { events: [], outputChars: 0, calls: [], updates: [], approvals: [], parking: null };
  const end = { status: "FAILED", output: null, exitCode: null, failure, leavesTraces: false } as const;
  await store.write({ taskId: id, fence, ...nothing, activeMs: 1, end });
  expect(await find("stranded wrecked")).toBe(1);
});
