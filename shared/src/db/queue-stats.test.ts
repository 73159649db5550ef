import { createTestDatabase, newTask, openTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "../contracts/index.ts";
import {
  claimTasks,
  type Database,
  giveBack,
  insertProject,
  insertTasks,
  queueStats,
  releaseDue,
  wakeDue,
  writeSegments,
} from "./index.ts";

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  ({ db } = await openTestDatabase(database.url));
});

afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const A_MINUTE = 60_000;
const AN_HOUR = 60 * A_MINUTE;

/** A task of a new project, submitted three weeks ago. */
async function submit(runAt: Date | null = null): Promise<{ id: string; projectId: string }> {
  const projectId = (await insertProject(db, "waiting")).id;
  const task = newTask(projectId, { runAt });
  await insertTasks(db, [task], 0);
  await sql`update tasks set created_at = now() - interval '21 days' where id = ${task.id}`.execute(db);
  return task;
}

const claim = (taskId: string) => claimTasks(db, [{ taskId, job: 1, isolation: "{}", image: null }], newId());
const oldest = async (projectId: string) => (await queueStats(db, projectId)).oldestWaitingMs;

describe("how long the oldest task has waited for a worker", () => {
  it("counts from its waking, however long it was parked", async () => {
    const { id: taskId, projectId } = await submit();
    await claim(taskId);
    const nothing = { calls: [], updates: [], approvals: [], events: [], outputChars: 0, activeMs: 0, end: null };
    const parking = { wakes: 0, wakeAt: new Date(Date.now() - 1), waitingFor: "timer", kept: null };
    await writeSegments(db, [{ ...nothing, taskId, fence: 1, parking }]);
    expect(await oldest(projectId)).toBeNull();
    await wakeDue(db);
    expect(await oldest(projectId)).toBeLessThan(A_MINUTE);
  });

  it("counts from when its last worker gave it back", async () => {
    const { id: taskId, projectId } = await submit();
    await claim(taskId);
    await giveBack(db, { taskId, fence: 1 }, "worker drains");
    expect(await oldest(projectId)).toBeLessThan(A_MINUTE);
  });

  it("counts from the runAt of a delayed one, which hides none that waits longer", async () => {
    const { id, projectId } = await submit(new Date(Date.now() + AN_HOUR));
    await sql`update outbox set run_at = now() - interval '2 minutes' where task_id = ${id}`.execute(db);
    await releaseDue(db);
    const ms = await oldest(projectId);
    expect(ms).toBeGreaterThanOrEqual(2 * A_MINUTE);
    expect(ms).toBeLessThan(AN_HOUR);
    const other = newTask(projectId);
    await insertTasks(db, [other], 0);
    await sql`update outbox set since = now() - interval '1 hour' where task_id = ${other.id}`.execute(db);
    expect(await oldest(projectId)).toBeGreaterThanOrEqual(AN_HOUR);
  });
});
