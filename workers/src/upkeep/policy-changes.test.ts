import { newId } from "@airlock/shared/contracts";
import { beginPolicyChange, insertPolicy, listPolicies, type NewPolicy } from "@airlock/shared/db";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { startSweeper } from "./sweeper.ts";

const patience = { timeout: 30_000 };
let worker: TestWorker;
let sweeper: { stop(): Promise<void> } | undefined;

beforeEach(async () => {
  worker = await openTestWorker();
});
afterEach(async () => {
  await sweeper?.stop();
  sweeper = undefined;
  await worker.close();
});

const sweep = (): void => void (sweeper = startSweeper(worker.context, 10_000));

/** A task that is parked with a call that a person was asked about. */
async function hold(path = "mail.send"): Promise<{ taskId: string; approvalId: string }> {
  const { id: taskId, segments: fence } = await worker.claim(await worker.submit());
  const approvalId = newId();
  const shared = { path, version: "1", inputHash: Buffer.alloc(32, 7) };
  const call = {
    ...shared,
    ...{ index: 0, sent: "{}", input: null, status: "WAITING" as const, approvalId, wakeAt: null, output: null },
    ...{ errorCode: null, errorMessage: null, startedAt: null, finishedAt: null, completion: null },
  };
  await worker.context.store.write({
    ...{ taskId, fence, events: [], outputChars: 0, calls: [call], updates: [], activeMs: 0, end: null },
    approvals: [
      {
        ...{ ...shared, id: approvalId, callIndex: 0, kind: "TOOL_CALL", defaultMode: "REQUIRED" },
        ...{ editedInput: null, expiresInMs: 60_000 },
      },
    ],
    parking: { wakes: 0, wakeAt: null, waitingFor: "approval", kept: null },
  });
  return { taskId, approvalId };
}

/** A change that has seen none of the calls that are being held beside it. */
async function change(policy: Partial<NewPolicy>): Promise<void> {
  const { projectId } = worker;
  const everywhere = { scope: "PROJECT", scopeId: null, inputHash: null, expiresAt: null, approvalMs: null } as const;
  await worker.context.db.transaction().execute(async (tx) => {
    await beginPolicyChange(tx, projectId);
    await insertPolicy(tx, { projectId, pattern: "mail.send", mode: "AUTO", ...everywhere, createdBy: "a", ...policy });
  });
}

async function stateOf({ taskId, approvalId }: { taskId: string; approvalId: string }) {
  const { db } = worker.context;
  const row = db.selectFrom("approvals").select(["status", "reason"]).where("id", "=", approvalId);
  const { status, reason } = await row.executeTakeFirstOrThrow();
  return { task: (await worker.task(taskId)).status, approval: status, reason };
}
const JUDGED_ANEW = { task: "QUEUED", approval: "CANCELLED", reason: "superseded" };
const WAITING = { task: "PARKED", approval: "PENDING" };

it.each(["AUTO", "DENY"] as const)("a call that was held while policy became %s is judged anew", async (mode) => {
  await change({ mode });
  const [held, other] = [await hold(), await hold("mail.read")];
  sweep();
  await expect.poll(() => stateOf(held), patience).toMatchObject(JUDGED_ANEW);
  expect(await stateOf(other)).toMatchObject(WAITING);
});

it("so is one that waits, once the rule that held it has lapsed; the lapse is in the audit log", async () => {
  const { db } = worker.context;
  const [held, other] = [await hold(), await hold("mail.read")];
  await change({ pattern: "mail.*", mode: "AUTO" });
  await change({ pattern: "mail.send", mode: "REQUIRED", expiresAt: new Date(Date.now() + 2_500) });
  await change({ pattern: "mail.read", mode: "REQUIRED" });
  // Both were held, and both policies changed, long ago.
  await sql`update approvals set requested_at = now() - interval '1 hour'`.execute(db);
  sweep();
  await expect.poll(() => stateOf(held), patience).toMatchObject(JUDGED_ANEW);
  expect(await stateOf(other)).toMatchObject(WAITING);
  expect((await listPolicies(db, worker.projectId)).map(({ pattern }) => pattern)).toEqual(["mail.*", "mail.read"]);
  const trace = db.selectFrom("audit_log").select(["actor", "data"]).where("action", "=", "tool_policy.lapsed");
  const [lapsed] = await trace.execute();
  expect(lapsed).toMatchObject({ actor: "system", data: expect.stringContaining('"pattern":"mail.send"') });
});

it("what was held long before a change is left to the change itself", async () => {
  const held = await hold();
  await sql`update approvals set requested_at = now() - interval '1 hour'`.execute(worker.context.db);
  await change({});
  const beside = await hold();
  sweep();
  await expect.poll(() => stateOf(beside), patience).toMatchObject(JUDGED_ANEW);
  expect(await stateOf(held)).toMatchObject(WAITING);
});
