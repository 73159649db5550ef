import { giveUpLease, type LeaseRow } from "@airlock/shared/db";
import { newId, topics } from "@airlock/shared/contracts";
import type { LeaseState } from "@airlock/shared/domain";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { leaseRequest } from "../../testing/lease-request.ts";
import { createScriptedProvider, type ScriptedProvider } from "../../testing/scripted-provider.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { startReaper } from "./reaper.ts";

const patience = { timeout: 30_000 };
let worker: TestWorker;
let provider: ScriptedProvider;
let reaper: { stop(): Promise<void> };
beforeAll(async () => {
  worker = await openTestWorker();
});
afterAll(() => worker.close());
beforeEach(async () => {
  provider = createScriptedProvider();
  await sql`delete from leases`.execute(worker.context.db);
});
afterEach(() => reaper.stop());

async function reap(): Promise<void> {
  const options = { host: "test", periodMs: 100, lostAfterMs: 10_000 };
  reaper = await startReaper(worker.context, [provider], options);
}

/** A lease and its sandbox, as a worker left them. */
async function lease(state: LeaseState, fields: Partial<LeaseRow> = {}): Promise<string> {
  const id = newId();
  const values = {
    id,
    project_id: worker.projectId,
    environment: "e",
    provider: "scripted",
    worker_id: worker.context.workerId,
    host: "test",
    state,
    policy: "EPHEMERAL" as const,
    ...fields,
  };
  await worker.context.db.insertInto("leases").values(values).execute();
  provider.sandboxes.set(id, leaseRequest({ leaseId: id }));
  return id;
}

async function stateOf(id: string): Promise<Pick<LeaseRow, "state" | "ended_at" | "attempts" | "error"> | undefined> {
  return worker.context.db
    .selectFrom("leases")
    .select(["state", "ended_at", "attempts", "error"])
    .where("id", "=", id)
    .executeTakeFirst();
}

async function told(id: string): Promise<string[]> {
  const rows = await worker.context.db
    .selectFrom("audit_log")
    .select("action")
    .where("subject", "=", id)
    .orderBy("id")
    .execute();
  return rows.map(({ action }) => action);
}

describe("the reaper", () => {
  it("destroys what a lost worker left, and nothing that a living one holds or that is kept", async () => {
    const [lost, alive] = [await worker.newWorker(), await worker.newWorker()];
    await worker.silence(lost);
    const left = await lease("ACTIVE", { worker_id: lost });
    const held = await lease("ACTIVE", { worker_id: alive });
    const kept = await lease("RETAINED", { expires_at: new Date(Date.now() + 3600_000) });
    await reap();
    await expect.poll(() => stateOf(left), patience).toMatchObject({ state: "EXPIRED", ended_at: expect.any(Date) });
    expect([...provider.sandboxes.keys()]).toEqual([held, kept]);
    expect(await told(left)).toEqual(["lease.expired", "lease.destroyed"]);
    expect(await stateOf(held)).toMatchObject({ state: "ACTIVE" });
  });

  it("destroys a retained one whose time is up, and one that was given up as soon as it hears of it", async () => {
    const late = await lease("RETAINED", { expires_at: new Date(Date.now() - 1_000) });
    const kept = await lease("RETAINED", { expires_at: new Date(Date.now() + 3600_000) });
    await reap();
    await expect.poll(() => [...provider.sandboxes.keys()], patience).toEqual([kept]);
    await expect.poll(() => stateOf(late), patience).toMatchObject({ state: "EXPIRED" });
    await giveUpLease(worker.context.db, kept);
    await worker.context.bus.publish(topics.leases, [kept]);
    await expect.poll(() => stateOf(kept), patience).toMatchObject({ state: "RELEASED" });
    expect(provider.sandboxes.size).toBe(0);
  });

  it("destroys what rested for a session on a worker that is lost, and what this one has let go of", async () => {
    const expires_at = new Date(Date.now() + 3600_000);
    const rests = { policy: "REUSE_BY_SESSION", expires_at } as const;
    const [lost, alive] = [await worker.newWorker(), await worker.newWorker()];
    await worker.silence(lost);
    const left = await lease("RETAINED", { ...rests, worker_id: lost });
    const waits = await lease("RETAINED", { ...rests, worker_id: alive });
    const letGo = await lease("RETAINED", { ...rests, created_at: new Date(0) });
    await reap();
    await expect.poll(() => [...provider.sandboxes.keys()], patience).toEqual([waits]);
    await expect.poll(() => stateOf(left), patience).toMatchObject({ state: "EXPIRED", error: "its worker was lost" });
    await expect.poll(() => stateOf(letGo), patience).toMatchObject({ error: "its worker lost hold of it" });
  });

  it("tries again what could not be destroyed, later each time, and tells of it once", async () => {
    const id = await lease("PENDING_CLEANUP");
    provider.faults.destroy = "the engine is away";
    await reap();
    await expect.poll(() => stateOf(id), patience).toMatchObject({ attempts: 1, error: "the engine is away" });
    await sql`update leases set retry_at = now() where id = ${id}`.execute(worker.context.db);
    await expect.poll(() => stateOf(id), patience).toMatchObject({ attempts: 2, state: "PENDING_CLEANUP" });
    provider.faults.destroy = null;
    await sql`update leases set retry_at = now() where id = ${id}`.execute(worker.context.db);
    await expect.poll(() => stateOf(id), patience).toMatchObject({ state: "RELEASED", ended_at: expect.any(Date) });
    expect(await told(id)).toEqual(["lease.cleanup_failed", "lease.destroyed"]);
  });

  it("ends the lease of a sandbox that is gone already, and leaves another host's to that host", async () => {
    const [gone, elsewhere] = [await lease("PENDING_CLEANUP"), await lease("PENDING_CLEANUP", { host: "another" })];
    await sql`update workers set host = 'another' where id = ${await worker.newWorker()}`.execute(worker.context.db);
    provider.sandboxes.clear();
    await reap();
    await expect.poll(() => stateOf(gone), patience).toMatchObject({ state: "RELEASED" });
    expect(await stateOf(elsewhere)).toMatchObject({ state: "PENDING_CLEANUP" });
  });

  it("leaves alone what this database does not know: it is another installation's", async () => {
    const stranger = newId();
    provider.sandboxes.set(stranger, leaseRequest({ leaseId: stranger }));
    const known = await lease("PENDING_CLEANUP");
    await reap();
    await expect.poll(() => stateOf(known), patience).toMatchObject({ state: "RELEASED" });
    expect([...provider.sandboxes.keys()]).toEqual([stranger]);
  });

  it("destroys its own worker's lease whose end was never written, and not one that the worker holds", async () => {
    const forgotten = await lease("ACTIVE", { created_at: new Date(Date.now() - 3600_000) });
    const { leases } = worker.context;
    const held = newId();
    const owner = { taskId: null, fence: null, environment: "e", environmentId: null, revision: null };
    await leases.begin({ ...owner, id: held, projectId: worker.projectId, provider: "scripted", policy: "EPHEMERAL" });
    await sql`update leases set created_at = now() - interval '1 hour' where id = ${held}`.execute(worker.context.db);
    await reap();
    await expect.poll(() => stateOf(forgotten), patience).toMatchObject({ state: "EXPIRED" });
    expect(await stateOf(held)).toMatchObject({ state: "ACTIVE" });
    await leases.end({ id: held, state: "RELEASED", error: null, retainMs: null });
  });
});
