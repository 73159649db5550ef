import { createTestDatabase, newTask, openTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newEvent, newId } from "../../contracts/index.ts";
import { type Database, listEvents, registerWorker, takeWaiting } from "../index.ts";
import { cancelTasks } from "./cancel.ts";
import { findTask } from "./read.ts";
import { giveBack, recoverFromLostWorkers } from "./recover.ts";
import { claimTasks } from "./claim.ts";
import { type SegmentWrite, writeSegments } from "./segments.ts";
import { insertTasks, type NewTask } from "./submit.ts";

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

async function submit(fields: Partial<NewTask> = {}): Promise<string> {
  const task = newTask(projectId, fields);
  await insertTasks(db, [task], 10_000);
  return task.id;
}

async function worker(): Promise<string> {
  const id = newId();
  await registerWorker(db, { id, host: "here", version: "0", capacity: 1, providers: ["isolate"], tools: [] });
  return id;
}

const claim = async (taskId: string, job = 1, workerId?: string) =>
  (await claimTasks(db, [{ taskId, job, isolation: "{}", image: null }], workerId ?? (await worker())))[0] ?? null;

const nothing = { calls: [], updates: [], approvals: [], outputChars: 0, activeMs: 0, end: null, parking: null };

const nobody = { approvalId: null, wakeAt: null, errorCode: null, errorMessage: null, startedAt: null };

const callOf = (index: number) => ({
  ...{ ...nobody, index, path: "a.b", sent: "{}", input: null, inputHash: Buffer.alloc(32), version: "1" },
  ...{ status: "WAITING" as const, output: null, finishedAt: null, completion: null },
});

const end = (taskId: string, fence: number): SegmentWrite => ({
  ...nothing,
  taskId,
  fence,
  events: [newEvent("task.succeeded", {})],
  end: { status: "SUCCEEDED", output: "2", exitCode: null, failure: null, leavesTraces: false },
});

const seqOf = async (writes: SegmentWrite[]) => (await writeSegments(db, writes)).map((one) => one?.seq ?? null);

const typesOf = async (id: string): Promise<string[]> =>
  (await listEvents(db, id, { after: 0, limit: 100 })).map((event) => `${event.seq} ${event.type}`);

describe("segments", () => {
  it("a job delivered twice is claimed once", async () => {
    const id = await submit();
    const both = await Promise.all([claim(id), claim(id)]);
    expect(both.filter((task) => task !== null)).toHaveLength(1);
  });

  it("a job delivered twice into one claim is claimed once, and an old job beside the new one gets nothing", async () => {
    const id = await submit();
    const ask = async (...numbers: number[]) => {
      const jobs = numbers.map((job) => ({ taskId: id, job, isolation: "{}", image: null }));
      return (await claimTasks(db, jobs, await worker())).map((task) => task?.segments ?? null);
    };
    expect(new Set(await ask(1, 1))).toEqual(new Set([1, null]));
    await giveBack(db, { taskId: id, fence: 1 }, "worker drains");
    expect(await ask(1, 2)).toEqual([null, 2]);
  });

  it("a worker that was taken for lost cannot write over its successor", async () => {
    const id = await submit();
    const first = await claim(id);
    await db
      .updateTable("workers")
      .set({ last_seen_at: new Date(0) })
      .where("id", "=", first ? ((await findTask(db, projectId, id))?.worker_id ?? "") : "")
      .execute();
    const recovered = await recoverFromLostWorkers(db, 1_000);
    expect(recovered.map((task) => task.id)).toContain(id);
    await takeWaiting(db, "isolate", 10_000);
    const second = await claim(id, 2);
    expect(second?.segments).toBe(2);
    expect(await seqOf([end(id, 1)])).toEqual([null]);
    expect(await seqOf([end(id, 2)])).toEqual([4]);
    expect(await typesOf(id)).toEqual(["1 task.queued", "2 task.started", "3 task.resumed", "4 task.succeeded"]);
  });

  it("an end is written once", async () => {
    const id = await submit();
    await claim(id);
    expect(await seqOf([end(id, 1)])).toEqual([3]);
    expect(await seqOf([end(id, 1)])).toEqual([null]);
    expect((await findTask(db, projectId, id))?.status).toBe("SUCCEEDED");
  });

  it("writes of many tasks in one statement keep each task's own seq without gaps", async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => submit()));
    for (const id of ids) await claim(id);
    const events = [1, 2, 3].map((n) => newEvent("task.output", { stream: "stdout", text: `line ${n}\n` }));
    const seqs = await seqOf(ids.map((taskId) => ({ ...nothing, taskId, fence: 1, events, outputChars: 21 })));
    expect(seqs).toEqual([5, 5, 5, 5, 5]);
    for (const id of ids)
      expect((await typesOf(id)).map((entry) => entry.split(" ")[0])).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("stores NUL and lone surrogates of output without loss, and of an error message visibly", async () => {
    const id = await submit();
    await claim(id);
    const text = "a\0b\ud800c";
    await writeSegments(db, [
      {
        ...nothing,
        taskId: id,
        fence: 1,
        events: [newEvent("task.output", { stream: "stdout", text })],
        outputChars: text.length,
        end: {
          status: "FAILED",
          output: null,
          exitCode: null,
          failure: { code: "GUEST_ERROR", message: text },
          leavesTraces: true,
        },
      },
    ]);
    const [event] = await listEvents(db, id, { after: 2, limit: 1 });
    expect((JSON.parse(event?.data ?? "") as { text: string }).text).toBe(text);
    expect((await findTask(db, projectId, id))?.error_message).toBe("a\u2400b\ufffdc");
  });

  it("a task that loses its segment again and again fails instead of going round for ever", async () => {
    const id = await submit();
    for (const n of [1, 2, 3, 4]) {
      await claim(id, n);
      expect((await giveBack(db, { taskId: id, fence: n }, "sandbox lost"))?.status).toBe("QUEUED");
    }
    await claim(id, 5);
    expect((await giveBack(db, { taskId: id, fence: 5 }, "sandbox lost"))?.status).toBe("FAILED");
    const task = await findTask(db, projectId, id);
    expect(task).toMatchObject({ status: "FAILED", error_code: "SANDBOX_FAILED", losses: 5 });
  });

  it("a drained segment is no loss", async () => {
    const id = await submit();
    await claim(id);
    await giveBack(db, { taskId: id, fence: 1 }, "worker drains");
    expect(await findTask(db, projectId, id)).toMatchObject({ status: "QUEUED", losses: 0, job: 2 });
  });

  it("a task that is never run again ends with its worker, which may have begun it", async () => {
    const id = await submit({ replayable: false });
    const lost = await worker();
    expect(await claim(id, 1, lost)).toMatchObject({ replayable: false });
    await db
      .updateTable("workers")
      .set({ last_seen_at: new Date(0) })
      .where("id", "=", lost)
      .execute();
    await recoverFromLostWorkers(db, 60_000);
    const task = await findTask(db, projectId, id);
    expect(task).toMatchObject({ status: "FAILED", error_code: "WORKER_LOST", segments: 1 });
    expect(task?.error_message).toMatch(/worker was lost.*replayable: false/);
    expect((await typesOf(id)).at(-1)).toBe("3 task.failed");
  });

  it("a task that is never run again is given back only while its program cannot have begun", async () => {
    const id = await submit({ replayable: false });
    await claim(id);
    const unbegun = { taskId: id, fence: 1, begun: false };
    expect((await giveBack(db, unbegun, "no lease"))?.status).toBe("QUEUED");
    await claim(id, 2);
    expect((await giveBack(db, { ...unbegun, fence: 2, begun: true }, "worker drains"))?.status).toBe("FAILED");
    expect(await findTask(db, projectId, id)).toMatchObject({ error_code: "WORKER_LOST", segments: 2 });
  });

  it("a lost worker's task whose cancellation was asked for ends CANCELLED, not QUEUED", async () => {
    const id = await submit();
    await claim(id);
    await cancelTasks(db, projectId, { taskId: id });
    expect((await findTask(db, projectId, id))?.status).toBe("RUNNING");
    expect((await giveBack(db, { taskId: id, fence: 1 }, "sandbox lost"))?.status).toBe("CANCELLED");
    expect((await typesOf(id)).at(-1)).toBe("3 task.cancelled");
  });

  it("rows of calls may come in any order: the next index is beyond all of them, and the calls of the gap may be made", async () => {
    const id = await submit();
    await claim(id);
    const open = (index: number) => ({ ...callOf(index), status: "STARTED" as const });
    await writeSegments(db, [{ ...nothing, taskId: id, fence: 1, events: [], calls: [open(3), open(1)] }]);
    expect((await findTask(db, projectId, id))?.calls).toBe(4);
    await writeSegments(db, [{ ...nothing, taskId: id, fence: 1, events: [], calls: [open(2)] }]);
    expect((await findTask(db, projectId, id))?.calls).toBe(4);
  });

  it("an outcome that travels with the end is kept, and only calls without one end with the task", async () => {
    const id = await submit();
    await claim(id);
    const calls = [callOf(0), callOf(1)];
    await writeSegments(db, [{ ...nothing, taskId: id, fence: 1, events: [], calls }]);
    const outcome = { status: "SUCCEEDED" as const, output: "7", finishedAt: new Date(0), completion: 1 };
    const updates = [{ ...nobody, ...outcome, index: 0, input: null, inputHash: null, version: null }];
    const ending = end(id, 1);
    const leavesTraces = { ...ending.end, leavesTraces: true } as SegmentWrite["end"];
    await writeSegments(db, [{ ...ending, updates, end: leavesTraces }]);
    const rows = await db
      .selectFrom("tool_calls")
      .select(["status", "output", "completion"])
      .where("task_id", "=", id)
      .orderBy("index")
      .execute();
    expect(rows).toEqual([
      { status: "SUCCEEDED", output: "7", completion: 1 },
      { status: "CANCELLED", output: null, completion: null },
    ]);
  });
});
