import { giveBack, listCallsOf, listEvents, wakeDue } from "@airlock/shared/db";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { record, type RecordOptions } from "../../testing/recording.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { type CallFacts, callEntry } from "../desk/entries.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await openTestWorker();
});
afterAll(() => worker.close());

interface Told {
  readonly type: string;
  readonly data: { stream?: string; text?: string; bytes?: number };
}

async function eventsOf(taskId: string): Promise<Told[]> {
  const events = await listEvents(worker.context.db, taskId, { after: 0, limit: 1000 });
  return events.map(({ type, data }) => ({ type, data: JSON.parse(data) as Told["data"] }));
}

const outputOf = async (taskId: string) =>
  (await eventsOf(taskId)).filter(({ type }) => type === "task.output").map(({ data }) => [data.stream, data.text]);

const textOf = async (taskId: string) => (await outputOf(taskId)).map(([, text]) => text).join("");

const IMAGE = Buffer.from("an image");

/** A claimed task and its recorder; its guest is restored where one was kept. */
async function start(taskId?: string, options: RecordOptions = {}) {
  const id = taskId ?? (await worker.submit());
  const { job } = await worker.task(id);
  const task = await worker.context.store.claim({ taskId: id, job, isolation: "{}", image: IMAGE });
  if (task === null) throw new Error("the job is stale");
  return { task, ...record(worker.context, task, options) };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Parks a task, and wakes it. */
async function park({ recorder }: Started, by: "snapshot" | "replay"): Promise<void> {
  const kept = by === "replay" ? null : { image: IMAGE, state: Buffer.from("state"), calls: "[]" };
  await recorder.park({ wakes: 0, wakeAt: new Date(0), waitingFor: "timer", kept }, 0);
  await wakeDue(worker.context.db);
}

async function lose({ task }: Started): Promise<void> {
  await giveBack(worker.context.db, { taskId: task.id, fence: task.segments }, "worker drains");
}

const droppedOf = async (taskId: string) =>
  (await eventsOf(taskId)).flatMap(({ type, data }) => (type === "task.output_truncated" ? [data.bytes] : []));

describe("the recorder", () => {
  it("joins what a chatty guest prints into few events, in order, streams apart", async () => {
    const { task, recorder } = await start();
    for (let i = 0; i < 500; i++) recorder.output("stdout", `${i}\n`);
    recorder.output("stderr", "oh\n");
    recorder.output("stderr", "no\n");
    recorder.output("stdout", "end\n");
    expect(await recorder.end()).toBe(true);
    expect(await outputOf(task.id)).toEqual([
      ["stdout", Array.from({ length: 500 }, (_, i) => `${i}\n`).join("")],
      ["stderr", "oh\nno\n"],
      ["stdout", "end\n"],
    ]);
    expect((await eventsOf(task.id)).at(-1)?.type).toBe("task.succeeded");
  });

  it("shows output while the guest still runs", async () => {
    const { task, recorder } = await start();
    recorder.output("stdout", "so far\n");
    await expect.poll(() => outputOf(task.id), { timeout: 20_000 }).toEqual([["stdout", "so far\n"]]);
    expect(await worker.task(task.id)).toMatchObject({ status: "RUNNING", recorded_output: 7 });
    recorder.output("stdout", "more\n");
    await recorder.end();
    expect(await textOf(task.id)).toBe("so far\nmore\n");
  });

  it("makes no event larger than a reader takes at once", async () => {
    const { task, recorder } = await start();
    for (let i = 0; i < 40; i++) recorder.output("stdout", "x".repeat(1000));
    await recorder.end();
    const lengths = (await outputOf(task.id)).map(([, text]) => text?.length ?? 0);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(16 * 1024);
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(40_000);
  });

  it("a re-run records only what the run before it had not, however the pieces fall", async () => {
    const first = await start();
    first.recorder.output("stdout", "one\ntwo\nth");
    await expect.poll(() => textOf(first.task.id), { timeout: 20_000 }).toBe("one\ntwo\nth");
    await lose(first);
    const second = await start(first.task.id);
    for (const piece of ["one", "\ntwo\n", "three\nfo", "ur\n"]) second.recorder.output("stdout", piece);
    await second.recorder.end();
    expect(await textOf(first.task.id)).toBe("one\ntwo\nthree\nfour\n");
    expect(await worker.task(first.task.id)).toMatchObject({ recorded_output: 19 });
  });

  it("a re-run that prints less than was recorded records nothing, and ends", async () => {
    const first = await start();
    first.recorder.output("stdout", "a long line\n");
    await expect.poll(() => textOf(first.task.id), { timeout: 20_000 }).not.toBe("");
    await lose(first);
    const second = await start(first.task.id);
    second.recorder.output("stdout", "a");
    expect(await second.recorder.end()).toBe(true);
    expect(await textOf(first.task.id)).toBe("a long line\n");
  });

  it("keeps a prefix only, and tells how many bytes are missing, the provider's included", async () => {
    const { task, recorder } = await start(undefined, { keptOutput: 10 });
    recorder.output("stdout", "12345");
    recorder.output("stderr", "678901é");
    recorder.output("stdout", "x");
    recorder.dropped(1000);
    await recorder.end();
    const told = (await eventsOf(task.id)).slice(2);
    expect(told).toEqual([
      { type: "task.output", data: { stream: "stdout", text: "12345" } },
      { type: "task.output", data: { stream: "stderr", text: "67890" } },
      { type: "task.output_truncated", data: { bytes: 1 + 2 + 1 + 1000 } },
      { type: "task.succeeded", data: {} },
    ]);
  });

  it("a re-run of a guest that was cut is cut at the same place", async () => {
    const first = await start(undefined, { keptOutput: 10 });
    first.recorder.output("stdout", "1234567890abc");
    await expect.poll(() => textOf(first.task.id), { timeout: 20_000 }).toBe("1234567890");
    await lose(first);
    const second = await start(first.task.id, { keptOutput: 10 });
    second.recorder.output("stdout", "1234567890abc");
    await second.recorder.end();
    expect(await textOf(first.task.id)).toBe("1234567890");
    expect((await eventsOf(first.task.id)).at(-2)).toEqual({ type: "task.output_truncated", data: { bytes: 3 } });
  });

  it("a restored guest prints again what came after it was kept: that is skipped, and its room is what was left", async () => {
    const first = await start(undefined, { keptOutput: 10 });
    const { id } = first.task;
    first.recorder.output("stdout", "123");
    await park(first, "snapshot");
    const second = await start(id, { keptOutput: 10 });
    second.recorder.output("stdout", "45");
    await expect.poll(() => textOf(id), { timeout: 20_000 }).toBe("12345");
    await lose(second);
    const third = await start(id, { keptOutput: 10 });
    third.recorder.output("stdout", "4567890abc");
    await third.recorder.end();
    expect(await textOf(id)).toBe("1234567890");
    expect(await droppedOf(id)).toEqual([3]);
  });

  it("streams that come in another order in the re-run lose nothing and repeat nothing", async () => {
    const first = await start();
    first.recorder.output("stderr", "err\n");
    await expect.poll(() => textOf(first.task.id), { timeout: 20_000 }).toBe("err\n");
    await lose(first);
    const second = await start(first.task.id);
    second.recorder.output("stdout", "out\n");
    second.recorder.output("stderr", "err\n");
    second.recorder.output("stdout", "end\n");
    await second.recorder.end();
    expect(await outputOf(first.task.id)).toEqual([
      ["stderr", "err\n"],
      ["stdout", "out\nend\n"],
    ]);
  });

  it("of a restored guest too, each stream is counted from where it was kept", async () => {
    const first = await start();
    const { id } = first.task;
    first.recorder.output("stdout", "a");
    first.recorder.output("stderr", "b");
    await park(first, "snapshot");
    const second = await start(id);
    second.recorder.output("stderr", "err\n");
    await expect.poll(() => textOf(id), { timeout: 20_000 }).toBe("aberr\n");
    await lose(second);
    const third = await start(id);
    third.recorder.output("stdout", "out\n");
    third.recorder.output("stderr", "err\n");
    await third.recorder.end();
    expect(await textOf(id)).toBe("aberr\nout\n");
  });

  it("room that one stream took in the run before is not taken again by the other", async () => {
    const first = await start(undefined, { keptOutput: 10 });
    first.recorder.output("stderr", "1234567");
    await expect.poll(() => textOf(first.task.id), { timeout: 20_000 }).toBe("1234567");
    await lose(first);
    const second = await start(first.task.id, { keptOutput: 10 });
    second.recorder.output("stdout", "abcdefgh");
    second.recorder.output("stderr", "1234567");
    await second.recorder.end();
    expect(await textOf(first.task.id)).toBe("1234567abc");
    expect(await droppedOf(first.task.id)).toEqual([5]);
  });

  it.each(["snapshot", "replay"] as const)(
    "what was dropped adds up to what is missing, however often a task parks by %s",
    async (by) => {
      const first = await start(undefined, { keptOutput: 10 });
      const { id } = first.task;
      first.recorder.output("stdout", "1234567890abc");
      await park(first, by);
      const again = by === "replay" ? "1234567890abc" : "";
      const second = await start(id, { keptOutput: 10 });
      second.recorder.output("stdout", again);
      await park(second, by);
      const third = await start(id, { keptOutput: 10 });
      third.recorder.output("stdout", `${again}d`);
      third.recorder.dropped(5);
      await third.recorder.end();
      expect(await textOf(id)).toBe("1234567890");
      expect(await droppedOf(id)).toEqual([3, 6]);
    },
  );

  it("a guest that changes streams with every character, while a write is under way, breaks nothing", async () => {
    const { task, recorder } = await start();
    recorder.output("stdout", "first");
    await expect.poll(() => textOf(task.id), { timeout: 20_000 }).toBe("first");
    const recorded = recorder.record({ events: [] });
    for (let i = 0; i < 200_000; i++) recorder.output(i % 2 === 0 ? "stderr" : "stdout", "x");
    await recorded;
    await recorder.end();
    expect((await textOf(task.id)) === `first${"x".repeat(200_000)}`).toBe(true);
    // Not a row a character.
    expect((await eventsOf(task.id)).length).toBeLessThan(500);
  });

  it("NUL and lone surrogates are recorded without loss", async () => {
    const { task, recorder } = await start();
    recorder.output("stdout", "a\0b\ud800c");
    await recorder.end();
    expect(await textOf(task.id)).toBe("a\0b\ud800c");
  });

  it("a call whose outcome comes while its row still waits to be written is written with it, in the order of outcomes", async () => {
    const { task, recorder } = await start();
    const facts = { path: "util.sleep", sent: "{}", input: null, inputHash: Buffer.alloc(32), version: "1" };
    const [first, second] = [0, 1].map((index) => ({ ...facts, index, journaled: false }));
    const at = (ms: number) => new Date(1_700_000_000_000 + ms);
    const done = { status: "SUCCEEDED", result: { result: { ok: true, value: "1" }, at: at(1) } } as const;
    for (const call of [first, second])
      recorder
        .record(callEntry(call as CallFacts, { status: "WAITING", wakeAt: at(0) }), 60_000)
        .catch(() => undefined);
    for (const call of [second, first])
      recorder.record(callEntry({ ...(call as CallFacts), journaled: true }, done), 60_000).catch(() => undefined);
    await recorder.record({ events: [] });
    const calls = (await listCallsOf(worker.context.db, [task.id], { after: -1, limit: 10 })).get(task.id);
    expect(calls).toMatchObject([
      { status: "SUCCEEDED", output: "1", wake_at: at(0), finished_at: at(1), completion: 2 },
      { status: "SUCCEEDED", output: "1", wake_at: at(0), finished_at: at(1), completion: 1 },
    ]);
    expect(await worker.task(task.id)).toMatchObject({ completions: 2 });
  });

  it("a segment whose task was taken over records nothing more, says so once, and cannot end it", async () => {
    const { task, recorder, broken } = await start();
    await giveBack(worker.context.db, { taskId: task.id, fence: task.segments }, "sandbox lost");
    const successor = await start(task.id);
    recorder.output("stdout", "stale\n");
    await expect.poll(() => broken, { timeout: 20_000 }).toEqual(["fenced"]);
    recorder.output("stdout", "staler\n");
    expect(await recorder.end()).toBe(false);
    expect(broken).toEqual(["fenced"]);
    successor.recorder.output("stdout", "fresh\n");
    expect(await successor.recorder.end()).toBe(true);
    expect(await textOf(task.id)).toBe("fresh\n");
  });

  it("an end is refused where the fence is lost, even if nothing was printed", async () => {
    const { task, recorder } = await start();
    await giveBack(worker.context.db, { taskId: task.id, fence: task.segments }, "worker drains");
    expect(await recorder.end()).toBe(false);
    expect(await worker.task(task.id)).toMatchObject({ status: "QUEUED" });
  });

  it("a write that failed breaks the segment: what it may have lost is printed again by a re-run", async () => {
    const task = await worker.claim(await worker.submit());
    const store = { ...worker.context.store, write: () => Promise.reject(new Error("Postgres is away")) };
    const { recorder, broken } = record({ ...worker.context, store }, task);
    recorder.output("stdout", "lost\n");
    await expect
      .poll(() => broken, { timeout: 20_000 })
      .toEqual([expect.objectContaining({ message: "Postgres is away" })]);
    expect(await recorder.end()).toBe(false);
    expect(await worker.task(task.id)).toMatchObject({ status: "RUNNING", recorded_output: 0 });
  });
});
