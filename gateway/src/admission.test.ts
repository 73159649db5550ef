import { setTimeout as sleep } from "node:timers/promises";
import { type Database, insertTasks, type NewTask } from "@airlock/shared/db";
import { createLogger } from "@airlock/shared/runtime";
import { createTestDatabase, newTask, openTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Admission, createAdmission } from "./admission.ts";

let database: TestDatabase;
let db: Database;
let projectId: string;
let admission: Admission;

beforeAll(async () => {
  database = await createTestDatabase();
  ({ db, projectId } = await openTestDatabase(database.url));
  const nobody = { add: async () => {}, publish: async () => {} };
  admission = createAdmission({
    db,
    queues: nobody,
    bus: nobody,
    log: createLogger({ program: "test", level: "silent" }),
  });
});

afterAll(async () => {
  await admission.settle();
  await db.destroy();
  await database.drop();
});

const keyed = (idempotencyKey: string): NewTask =>
  newTask(projectId, { idempotencyKey, fingerprint: Buffer.alloc(32) });

/** Another gateway's group takes two keys, in this order; `meanwhile` begins between them. */
async function beside<T>(first: string, second: string, meanwhile: () => Promise<T>, patience = "1min"): Promise<T> {
  let begun: Promise<T> | null = null;
  await db.transaction().execute(async (tx) => {
    await sql`select set_config('lock_timeout', ${patience}, true)`.execute(tx);
    await insertTasks(tx, [keyed(first)], 0);
    begun = meanwhile();
    // Long enough for it to meet the key that is taken.
    await sleep(100);
    await insertTasks(tx, [keyed(second)], 0);
  });
  return begun as unknown as Promise<T>;
}

describe("two groups with the same idempotency keys at once", () => {
  it("take them in one order, however they came", async () => {
    const group = () => Promise.all([admission.one(keyed("order b")), admission.one(keyed("order a"))]);
    expect(await beside("order a", "order b", group, "10ms")).toEqual([null, null]);
  });

  it("and where they meet all the same, nobody hears of the deadlock", async () => {
    const group = () => Promise.all([admission.one(keyed("clash a")), admission.one(keyed("clash b"))]);
    expect(await beside("clash b", "clash a", group)).toEqual([null, null]);
  });
});

it("a task that cannot be stored does not take its neighbours along", async () => {
  const bad = newTask(projectId, { priority: 100_000 });
  const [stored, refused] = await Promise.allSettled([admission.one(newTask(projectId)), admission.one(bad)]);
  expect(stored).toMatchObject({ status: "fulfilled", value: expect.any(Date) });
  expect(refused.status).toBe("rejected");
});
