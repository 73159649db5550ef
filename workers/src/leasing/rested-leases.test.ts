import { type EnvironmentRow, giveUpLease, insertProject, type LeaseRow, type NewTask } from "@airlock/shared/db";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { inEnvironment, makeEnvironment } from "../../testing/environment.ts";
import { createScriptedProvider, type ScriptedProvider } from "../../testing/scripted-provider.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { runSegment } from "../runner/run-segment.ts";
import type { GuestOutcome } from "../sandboxes/port.ts";

let worker: TestWorker;
let provider: ScriptedProvider;
let row: EnvironmentRow;
let count = 0;
beforeAll(async () => {
  worker = await openTestWorker();
});
afterAll(() => worker.close());
beforeEach(async () => {
  provider = createScriptedProvider();
  const definition = { leasePolicy: "REUSE_BY_SESSION", retainMs: 3600_000 } as const;
  row = await makeEnvironment(worker, `reuse-${(count += 1)}`, definition);
});

/** Runs a task of the session that is never run again, or one that differs from it in something. */
async function run(fields: Partial<NewTask> = {}): Promise<string> {
  const id = await worker.submit({ ...inEnvironment(row), session: "s", replayable: false, ...fields });
  await runSegment(worker.context, provider, await worker.claim(id));
  return id;
}

async function leaseOf(taskId: string): Promise<LeaseRow | undefined> {
  const leases = worker.context.db.selectFrom("leases").selectAll().where("task_id", "=", taskId);
  return leases.executeTakeFirst();
}

describe("a session's sandbox", () => {
  it("goes from task to task, each with a lease of its own, of which one says that it exists", async () => {
    const ids = [await run(), await run(), await run()];
    expect([provider.asked.length, provider.reused.length]).toEqual([1, 2]);
    const leases = await Promise.all(ids.map(leaseOf));
    expect(leases.map((lease) => lease?.state)).toEqual(["RELEASED", "RELEASED", "RETAINED"]);
    expect(leases.map((lease) => lease?.expires_at instanceof Date)).toEqual([false, false, true]);
    expect([...provider.sandboxes.keys()]).toEqual([leases[2]?.id]);
    expect(worker.context.leases.held()).toContain(leases[2]?.id);
  });

  it("is never another session's, another project's, or that of a task that may be run again or has no session", async () => {
    const other = await insertProject(worker.context.db, "another");
    await run();
    await run({ session: "t" });
    await run({ projectId: other.id });
    await run({ replayable: true });
    await run({ session: null });
    expect(provider.reused).toEqual([]);
    expect(provider.sandboxes.size).toBe(3);
  });

  it("is never that of a task in another environment, or for which it stands for something else", async () => {
    provider.pin = async () => "first";
    await run();
    provider.pin = async () => "second";
    await run();
    row = await makeEnvironment(worker, `reuse-${(count += 1)}`, { leasePolicy: "REUSE_BY_SESSION" });
    await run();
    expect(provider.reused).toEqual([]);
  });

  it("is not shared by tasks that run at the same time; the last one's is kept", async () => {
    await run();
    const both = Promise.withResolvers<void>();
    let running = 0;
    provider.meanwhile = async () => {
      if ((running += 1) === 2) both.resolve();
      await both.promise;
    };
    await Promise.all([run(), run()]);
    expect([provider.asked.length, provider.reused.length]).toEqual([2, 1]);
    await expect.poll(() => provider.sandboxes.size, { timeout: 30_000 }).toBe(1);
  });

  it.each<[string, GuestOutcome]>([
    ["ran out of time", { kind: "failed", failure: { code: "TIMEOUT", message: "late" } }],
    ["ran out of memory", { kind: "failed", failure: { code: "OUT_OF_MEMORY", message: "more" } }],
    ["was cancelled", { kind: "cancelled" }],
    ["lost it", { kind: "lost", reason: "a test" }],
  ])("is not kept after a task that %s", async (_, outcome) => {
    provider.outcome = outcome;
    await run();
    expect(provider.sandboxes.size).toBe(0);
    provider.outcome = { kind: "returned", output: null };
    await run();
    expect([provider.asked.length, provider.reused.length]).toEqual([2, 0]);
  });

  it("is kept after a program that failed by itself", async () => {
    provider.outcome = { kind: "failed", failure: { code: "GUEST_ERROR", message: "its own" } };
    expect(await leaseOf(await run())).toMatchObject({ state: "RETAINED" });
    await run();
    expect(provider.reused).toHaveLength(1);
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ["a person has given up", (id) => giveUpLease(worker.context.db, id)],
    [
      "was kept for its time",
      (id) => sql`update leases set expires_at = now() where id = ${id}`.execute(worker.context.db),
    ],
  ])("that %s is nobody's, whoever still knows of it", async (_, end) => {
    await end((await leaseOf(await run()))?.id ?? "");
    const second = await run();
    expect(provider.asked).toHaveLength(2);
    // Taken for a moment, and destroyed.
    expect([...provider.sandboxes.keys()]).toEqual([(await leaseOf(second))?.id]);
  });

  it("that cannot be brought to rest, or not be used again, costs no task its end", async () => {
    provider.faults.rest = "a process goes on";
    expect(await leaseOf(await run())).toMatchObject({ state: "RELEASED" });
    provider.faults.rest = null;
    await run();
    provider.faults.reuse = "its files cannot be put in";
    const id = await run();
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED" });
    expect(provider.asked).toHaveLength(3);
    expect([...provider.sandboxes.keys()]).toEqual([(await leaseOf(id))?.id]);
  });

  it("ends with the worker that stops, and the oldest makes room where there are many", async () => {
    const first = await run();
    for (let i = 0; i < 8; i += 1) await run({ session: `one of many ${i}` });
    await expect.poll(() => leaseOf(first), { timeout: 30_000 }).toMatchObject({ state: "RELEASED" });
    expect(provider.sandboxes.size).toBe(8);
    await worker.context.rested.close();
    expect(provider.sandboxes.size).toBe(0);
    const open = sql`select from leases where state = 'RETAINED' and environment = ${row.name}`;
    expect((await open.execute(worker.context.db)).rows).toEqual([]);
  });
});
