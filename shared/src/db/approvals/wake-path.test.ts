import { createTestDatabase, newTask, openTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newEvent, newId } from "../../contracts/index.ts";
import {
  cancelTasks,
  claimTasks,
  type Database,
  insertTasks,
  recoverFromLostWorkers,
  registerWorker,
  type SegmentWrite,
  writeSegments,
} from "../index.ts";
import { type Outcome, settleApprovals } from "./settle.ts";

let database: TestDatabase;
let db: Database;
let projectId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  ({ db, projectId } = await openTestDatabase(database.url));
});

afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const nothing = { calls: [], updates: [], approvals: [], events: [], outputChars: 0, activeMs: 0 };

interface Held {
  readonly taskId: string;
  readonly workerId: string;
  readonly approvals: string[];
}

/** A running task whose guest waits for `asked` approvals. */
async function running(asked = 1, expiresInMs = 60_000): Promise<Held> {
  const workerId = newId();
  await registerWorker(db, { id: workerId, host: "h", version: "0", capacity: 1, providers: ["isolate"], tools: [] });
  const task = newTask(projectId);
  await insertTasks(db, [task], 10_000);
  await claimTasks(db, [{ taskId: task.id, job: 1, isolation: "{}", image: null }], workerId);
  return { taskId: task.id, workerId, approvals: await hold(task.id, asked, expiresInMs) };
}

/** What a running segment writes for calls that wait for a person. */
async function hold(taskId: string, asked: number, expiresInMs = 60_000): Promise<string[]> {
  const inputHash = Buffer.alloc(32, 7);
  const approvals = Array.from({ length: asked }, (_, callIndex) => ({
    id: newId(),
    callIndex,
    kind: "TOOL_CALL" as const,
    path: "a.b",
    version: "1",
    defaultMode: "REQUIRED" as const,
    inputHash,
    editedInput: null,
    expiresInMs,
  }));
  const calls = approvals.map(({ id, callIndex }) => ({
    ...{ index: callIndex, path: "a.b", sent: "{}", input: null, inputHash, version: "1", status: "WAITING" as const },
    ...{ approvalId: id, wakeAt: null, output: null, errorCode: null, errorMessage: null },
    ...{ startedAt: null, finishedAt: null, completion: null },
  }));
  await writeSegments(db, [{ ...nothing, taskId, fence: 1, calls, approvals, end: null, parking: null }]);
  return approvals.map(({ id }) => id);
}

const parking = ({ taskId }: Held, wakes = 0): SegmentWrite => ({
  ...nothing,
  taskId,
  fence: 1,
  events: [newEvent("task.parked", { waitingFor: "approval" })],
  end: null,
  parking: { wakes, wakeAt: null, waitingFor: "approval", kept: null },
});

async function parked(asked = 1, expiresInMs?: number): Promise<Held> {
  const held = await running(asked, expiresInMs);
  expect(await writeSegments(db, [parking(held)])).toMatchObject([{ requeued: false }]);
  return held;
}

const decide = (id: string, status: Outcome["status"] = "APPROVED"): Outcome => ({
  id,
  status,
  inputHash: Buffer.alloc(32, 7).toString("hex"),
  decidedBy: "somebody",
  reason: null,
  editedInput: null,
  answer: null,
});

async function stateOf({ taskId }: Held) {
  const task = await db
    .selectFrom("tasks")
    .select(["status", "job", "wakes", "event_seq"])
    .where("id", "=", taskId)
    .executeTakeFirstOrThrow();
  const boxes = await db.selectFrom("outbox").select("job").where("task_id", "=", taskId).execute();
  const events = await db.selectFrom("events").select("seq").where("task_id", "=", taskId).orderBy("seq").execute();
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: task.event_seq }, (_, i) => i + 1));
  return { status: task.status, job: task.job, wakes: task.wakes, boxes: boxes.map(({ job }) => job) };
}

const QUEUED_AGAIN = { status: "QUEUED", job: 2, boxes: [2] };

/** Runs `first` in a transaction, starts `second` while it is open, then commits: `second` waits for the row. */
async function inTheWay<A, B>(first: (tx: Database) => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
  let waiting: Promise<B> | null = null;
  const done = await db.transaction().execute(async (tx) => {
    const result = await first(tx);
    waiting = second();
    // Long enough for the second statement to have taken its snapshot and met the lock.
    await new Promise((resolve) => setTimeout(resolve, 100));
    return result;
  });
  return [done, await (waiting as unknown as Promise<B>)];
}

describe("the wake path", () => {
  it("a decision for a parked task queues it once, with its event", async () => {
    const held = await parked();
    const settled = await settleApprovals(db, [decide(held.approvals[0] as string)], "live");
    expect(settled.toEnqueue).toMatchObject([{ taskId: held.taskId, job: 2 }]);
    expect(await stateOf(held)).toMatchObject(QUEUED_AGAIN);
  });

  it("a decision while the segment still runs keeps it from parking over the outcome", async () => {
    const held = await running();
    const settled = await settleApprovals(db, [decide(held.approvals[0] as string)], "live");
    expect(settled).toMatchObject({ running: [held.taskId], toEnqueue: [] });
    expect(await writeSegments(db, [parking(held, 0)])).toMatchObject([{ requeued: true }]);
    expect(await stateOf(held)).toMatchObject(QUEUED_AGAIN);
  });

  it("a segment that has seen the decision may park for what is still open", async () => {
    const held = await running(2);
    await settleApprovals(db, [decide(held.approvals[0] as string)], "live");
    expect(await writeSegments(db, [parking(held, 1)])).toMatchObject([{ requeued: false }]);
    expect((await stateOf(held)).status).toBe("PARKED");
  });

  it("a decision that commits while the parking waits for the row is not parked over", async () => {
    const held = await running();
    const [, written] = await inTheWay(
      (tx) => settleApprovals(tx, [decide(held.approvals[0] as string)], "live"),
      () => writeSegments(db, [parking(held, 0)]),
    );
    expect(written).toMatchObject([{ requeued: true }]);
    expect(await stateOf(held)).toMatchObject(QUEUED_AGAIN);
  });

  it("a decision that waits for the parking wakes what was parked", async () => {
    const held = await running();
    const [, settled] = await inTheWay(
      (tx) => writeSegments(tx, [parking(held, 0)]),
      () => settleApprovals(db, [decide(held.approvals[0] as string)], "live"),
    );
    expect(settled.toEnqueue).toHaveLength(1);
    expect(await stateOf(held)).toMatchObject(QUEUED_AGAIN);
  });

  it("of two decisions at once about one approval one wins", async () => {
    for (let round = 0; round < 10; round += 1) {
      const held = await parked();
      const [id] = held.approvals as [string];
      const both = await Promise.all([
        settleApprovals(db, [decide(id)], "live"),
        settleApprovals(db, [decide(id, "DENIED")], "live"),
      ]);
      expect(both.filter(({ ids }) => ids.has(id))).toHaveLength(1);
      expect(await stateOf(held)).toMatchObject({ ...QUEUED_AGAIN, wakes: 1 });
    }
  });

  it("two decisions at once about two calls of a task are both stored and queue it once", async () => {
    for (let round = 0; round < 10; round += 1) {
      const held = await parked(2);
      const both = await Promise.all(held.approvals.map((id) => settleApprovals(db, [decide(id)], "live")));
      expect(both.flatMap(({ ids }) => [...ids])).toHaveLength(2);
      expect(await stateOf(held)).toMatchObject({ ...QUEUED_AGAIN, wakes: 2 });
      const [task] = await claimTasks(
        db,
        [{ taskId: held.taskId, job: 2, isolation: "{}", image: null }],
        held.workerId,
      );
      expect(task).toMatchObject({ wakes: 2, journal: [{ verdict: { status: "APPROVED" } }, {}] });
    }
  });

  it("a decision that commits while the claim waits for the row is seen, or keeps the segment from parking", async () => {
    const held = await parked(2);
    const [first, second] = held.approvals as [string, string];
    await settleApprovals(db, [decide(first)], "live");
    const [, [task]] = await inTheWay(
      (tx) => settleApprovals(tx, [decide(second)], "live"),
      () => claimTasks(db, [{ taskId: held.taskId, job: 2, isolation: "{}", image: null }], held.workerId),
    );
    const seen = task?.journal.filter(({ verdict }) => verdict?.status === "APPROVED").length;
    expect(task?.wakes).toBe(seen);
    const write = { ...parking(held, task?.wakes), fence: 2 };
    expect(await writeSegments(db, [write])).toMatchObject([{ requeued: seen === 1 }]);
  });

  it("an approval whose time is up is expired and not decided, whoever comes first", async () => {
    const held = await parked(1, -1);
    const [id] = held.approvals as [string];
    const [decided, expired] = await Promise.all([
      settleApprovals(db, [decide(id)], "live"),
      settleApprovals(db, [{ ...decide(id, "EXPIRED"), inputHash: null }], "overdue"),
    ]);
    expect([decided.ids.size, expired.ids.size]).toEqual([0, 1]);
    expect(await stateOf(held)).toMatchObject(QUEUED_AGAIN);
  });

  it("a decision with the hash of something else changes nothing", async () => {
    const held = await parked();
    const other = { ...decide(held.approvals[0] as string), inputHash: "00".repeat(32) };
    expect((await settleApprovals(db, [other], "live")).ids.size).toBe(0);
    expect((await stateOf(held)).status).toBe("PARKED");
  });

  it("of cancelling and deciding at once, the task ends cancelled and leaves no job behind", async () => {
    for (let round = 0; round < 10; round += 1) {
      const held = await parked();
      const [id] = held.approvals as [string];
      await Promise.all([
        cancelTasks(db, projectId, { taskId: held.taskId }),
        settleApprovals(db, [decide(id)], "live"),
      ]);
      expect(await stateOf(held)).toMatchObject({ status: "CANCELLED", boxes: [] });
      const late = await settleApprovals(db, [decide(id)], "live");
      expect(late.ids.size).toBe(0);
    }
  });

  it("a decision that waits for the cancellation of a running task is not taken: the guest is not told", async () => {
    const held = await running();
    const [, settled] = await inTheWay(
      (tx) => tx.updateTable("tasks").set({ cancel_requested_at: new Date() }).where("id", "=", held.taskId).execute(),
      () => settleApprovals(db, [decide(held.approvals[0] as string)], "live"),
    );
    expect(settled).toMatchObject({ ids: new Set(), running: [], toEnqueue: [] });
    expect(await stateOf(held)).toMatchObject({ status: "RUNNING", wakes: 0 });
  });

  it("nor is one about a call that was held after the cancellation, by a worker that has not heard of it", async () => {
    const held = await running(0);
    await cancelTasks(db, projectId, { taskId: held.taskId });
    const approvals = await hold(held.taskId, 1);
    expect((await settleApprovals(db, [decide(approvals[0] as string)], "live")).ids.size).toBe(0);
  });

  it("parking a task that is to be cancelled is refused", async () => {
    const held = await running();
    await cancelTasks(db, projectId, { taskId: held.taskId });
    expect(await writeSegments(db, [parking(held)])).toEqual([null]);
  });

  it("a decision for a task whose worker just died is there when the next one takes it", async () => {
    const held = await running();
    await settleApprovals(db, [decide(held.approvals[0] as string)], "live");
    await db
      .updateTable("workers")
      .set({ last_seen_at: new Date(0) })
      .where("id", "=", held.workerId)
      .execute();
    await recoverFromLostWorkers(db, 1_000);
    expect(await stateOf(held)).toMatchObject(QUEUED_AGAIN);
    const [task] = await claimTasks(db, [{ taskId: held.taskId, job: 2, isolation: "{}", image: null }], held.workerId);
    expect(task).toMatchObject({ segments: 2, wakes: 1, journal: [{ verdict: { status: "APPROVED" } }] });
  });
});
