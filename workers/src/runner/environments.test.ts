import { type LeaseRow, lockEnvironment, reviseEnvironment, setEnvironmentActive } from "@airlock/shared/db";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { inEnvironment, makeEnvironment } from "../../testing/environment.ts";
import { createScriptedProvider, type ScriptedProvider } from "../../testing/scripted-provider.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { LeaseError } from "../sandboxes/port.ts";
import { runSegment } from "./run-segment.ts";

let worker: TestWorker;
let provider: ScriptedProvider;
let count = 0;
beforeAll(async () => {
  worker = await openTestWorker();
});
afterAll(() => worker.close());
beforeEach(() => {
  provider = createScriptedProvider();
});

const nextName = () => `environment-${(count += 1)}`;

async function runTask(id: string): Promise<void> {
  await sql`update outbox set run_at = null where task_id = ${id}`.execute(worker.context.db);
  await runSegment(worker.context, provider, await worker.claim(id));
}

async function leasesOf(id: string): Promise<LeaseRow[]> {
  return worker.context.db.selectFrom("leases").selectAll().where("task_id", "=", id).orderBy("id").execute();
}

describe("a task in an environment", () => {
  it("gets what the environment says, and its lease is recorded before and after", async () => {
    const definition = { config: { flavour: "salty" }, limits: { pids: 7 } };
    const row = await makeEnvironment(worker, nextName(), definition);
    const id = await worker.submit(inEnvironment(row));
    let seen: LeaseRow[] = [];
    provider.meanwhile = async () => void (seen = await leasesOf(id));
    await runTask(id);
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", environment_revision: 1 });
    expect(provider.asked[0]).toMatchObject({ config: { flavour: "salty" }, limits: { pids: 7, cpus: 0.5 } });
    expect(seen).toMatchObject([{ state: "ACTIVE", fence: 1, host: "test", revision: 1, ended_at: null }]);
    expect(await leasesOf(id)).toMatchObject([{ state: "RELEASED", id: provider.asked[0]?.leaseId }]);
    expect(JSON.parse((await worker.task(id)).isolation ?? "")).toMatchObject({
      enforced: { config: { flavour: "salty" } },
    });
  });

  it("keeps the revision that it began with, whatever becomes of the environment", async () => {
    const row = await makeEnvironment(worker, nextName(), { config: { flavour: "first" } });
    const id = await worker.submit(inEnvironment(row));
    provider.outcome = { kind: "lost", reason: "a test" };
    await runTask(id);
    const { db } = worker.context;
    const locked = await lockEnvironment(db, worker.projectId, row.name);
    if (locked === null) throw new Error("the environment is gone");
    const definition = { ...locked.definition, config: { flavour: "second" } };
    await reviseEnvironment(db, locked, { definition, active: false, createdBy: "test" });
    provider.outcome = { kind: "returned", output: null };
    await runTask(id);
    expect(provider.asked.map(({ config }) => config)).toEqual([{ flavour: "first" }, { flavour: "first" }]);
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", environment_revision: 1 });
  });

  it.each(["an environment of its own", "a built-in one"])(
    "keeps what its configuration stood for when it began, and the proof of that: %s",
    async (which) => {
      provider.pin = async () => "first";
      const own = which !== "a built-in one";
      const fields = own ? inEnvironment(await makeEnvironment(worker, nextName())) : { provider: "scripted" };
      const [begun, later] = [await worker.submit(fields), await worker.submit(fields)];
      provider.outcome = { kind: "lost", reason: "a test" };
      await runTask(begun);
      provider.pin = async () => "second";
      provider.outcome = { kind: "returned", output: null };
      await runTask(begun);
      await runTask(later);
      expect(provider.asked.map(({ pin }) => pin)).toEqual(["first", "first", "second"]);
      const proofs = [await worker.task(begun), await worker.task(later)].map(({ isolation }) =>
        JSON.parse(isolation ?? ""),
      );
      expect(proofs).toMatchObject([{ enforced: { pin: "first" } }, { enforced: { pin: "second" } }]);
    },
  );

  it.each(["an environment of its own", "a built-in one"])(
    "is tried again where what its configuration stands for cannot be told now: %s",
    async (which) => {
      const own = which !== "a built-in one";
      const id = await worker.submit(
        own ? inEnvironment(await makeEnvironment(worker, nextName())) : { provider: "scripted" },
      );
      provider.pin = async () => {
        throw new LeaseError("the engine is away");
      };
      await runTask(id);
      expect(await worker.task(id)).toMatchObject({ status: "QUEUED", losses: 1, sandbox_pin: null });
      provider.pin = async () => "back";
      await runTask(id);
      expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", sandbox_pin: "back" });
    },
  );

  it("whose sandbox can never be had fails at once, with the reason's own code", async () => {
    const id = await worker.submit(inEnvironment(await makeEnvironment(worker, nextName())));
    provider.faults.acquire = "what it began with is gone";
    provider.faults.code = "PROBE_FAILED";
    await runTask(id);
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "PROBE_FAILED", losses: 0 });
    expect((await worker.task(id)).error_message).toContain("what it began with is gone");
  });

  it("that was deactivated, changed or deleted before it began ends with the code for it", async () => {
    const { db } = worker.context;
    const [inactive, other, gone, refused] = await Promise.all([
      makeEnvironment(worker, nextName()),
      makeEnvironment(worker, nextName(), { languages: ["PYTHON"] }),
      makeEnvironment(worker, nextName()),
      makeEnvironment(worker, nextName(), { config: { nonsense: true } }),
    ]);
    await setEnvironmentActive(db, inactive, { active: false });
    const ids = await Promise.all([inactive, other, gone, refused].map((row) => worker.submit(inEnvironment(row))));
    await sql`delete from environment_revisions where environment_id = ${gone.id}`.execute(db);
    await sql`delete from environments where id = ${gone.id}`.execute(db);
    const codes = [];
    for (const id of ids) {
      await runTask(id);
      codes.push((await worker.task(id)).error_code);
    }
    expect(codes).toEqual(["ENVIRONMENT_INACTIVE", "UNSUPPORTED_ENVIRONMENT", "ENVIRONMENT_NOT_FOUND", "PROBE_FAILED"]);
    expect(provider.asked).toEqual([]);
  });

  it("whose configuration cannot be proved runs nothing and says why", async () => {
    const id = await worker.submit(inEnvironment(await makeEnvironment(worker, nextName())));
    provider.faults.prove = "no such runtime";
    await runTask(id);
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "PROBE_FAILED" });
    expect((await worker.task(id)).error_message).toContain("no such runtime");
    expect(provider.asked).toEqual([]);
  });

  it("that nobody had to make ends as ISOLATION_UNAVAILABLE where too little of it can be enforced", async () => {
    const id = await worker.submit();
    provider.faults.prove = "this machine does not enforce memory";
    await runTask(id);
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "ISOLATION_UNAVAILABLE" });
    expect((await worker.task(id)).error_message).toContain("does not enforce memory");
    expect(provider.asked).toEqual([]);
  });

  it("waits longer each time that no sandbox can be had, and at last fails with the reason", async () => {
    const id = await worker.submit(inEnvironment(await makeEnvironment(worker, nextName())));
    provider.faults.acquire = "no room\0 left";
    const waits: number[] = [];
    for (const losses of [1, 2, 3, 4]) {
      await runTask(id);
      expect(await worker.task(id)).toMatchObject({ status: "QUEUED", losses });
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from run_at - now())::double precision as seconds from outbox where task_id = ${id}
      `.execute(worker.context.db);
      waits.push(rows[0]?.seconds ?? 0);
    }
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    await runTask(id);
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "LEASE_FAILED" });
    expect((await worker.task(id)).error_message).toContain("no room");
    expect((await leasesOf(id)).map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => "FAILED"));
  });

  it("whose sandbox cannot be given back has its own end, and the sandbox waits for the reaper", async () => {
    const id = await worker.submit(inEnvironment(await makeEnvironment(worker, nextName())));
    provider.faults.release = "the engine is away";
    provider.outcome = { kind: "failed", failure: { code: "GUEST_ERROR", message: "its own" } };
    await runTask(id);
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_message: "its own" });
    expect(await leasesOf(id)).toMatchObject([{ state: "PENDING_CLEANUP", error: "the engine is away" }]);
  });

  it("keeps a failed task's sandbox, and only a failed one's, where its policy says so", async () => {
    const row = await makeEnvironment(worker, nextName(), { leasePolicy: "RETAIN_ON_FAILURE", retainMs: 60_000 });
    const [failed, fine] = [await worker.submit(inEnvironment(row)), await worker.submit(inEnvironment(row))];
    await runTask(fine);
    provider.outcome = { kind: "failed", failure: { code: "GUEST_ERROR", message: "broke" } };
    await runTask(failed);
    expect(await leasesOf(fine)).toMatchObject([{ state: "RELEASED", expires_at: null }]);
    const [kept] = await leasesOf(failed);
    expect(kept).toMatchObject({ state: "RETAINED", ended_at: null });
    expect(kept?.expires_at).toBeInstanceOf(Date);
    expect([...provider.sandboxes.keys()]).toEqual([kept?.id]);
  });
});
