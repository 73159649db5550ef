import { giveBack, listEvents } from "@airlock/shared/db";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { record, type RecordOptions } from "../../testing/recording.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";

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

/** A claimed task and its recorder. */
async function start(taskId?: string, options: RecordOptions = {}) {
  const task = await worker.claim(taskId ?? (await worker.submit()));
  return { task, ...record(worker.context, task, options) };
}

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
    await giveBack(worker.context.db, { taskId: first.task.id, fence: first.task.segments }, "sandbox lost");
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
    await giveBack(worker.context.db, { taskId: first.task.id, fence: first.task.segments }, "worker drains");
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
    await giveBack(worker.context.db, { taskId: first.task.id, fence: first.task.segments }, "sandbox lost");
    const second = await start(first.task.id, { keptOutput: 10 });
    second.recorder.output("stdout", "1234567890abc");
    await second.recorder.end();
    expect(await textOf(first.task.id)).toBe("1234567890");
    expect((await eventsOf(first.task.id)).at(-2)).toEqual({ type: "task.output_truncated", data: { bytes: 3 } });
  });

  it("a restored guest prints again what came after it was kept: that is skipped, and its room is what was left", async () => {
    const first = await start(undefined, { keptOutput: 10 });
    first.recorder.output("stdout", "12345");
    await expect.poll(() => textOf(first.task.id), { timeout: 20_000 }).toBe("12345");
    await giveBack(worker.context.db, { taskId: first.task.id, fence: first.task.segments }, "worker drains");
    const second = await start(first.task.id, { keptOutput: 10, printed: 3 });
    second.recorder.output("stdout", "4567890abc");
    await second.recorder.end();
    expect(await textOf(first.task.id)).toBe("1234567890");
    expect((await eventsOf(first.task.id)).at(-2)).toEqual({ type: "task.output_truncated", data: { bytes: 3 } });
  });

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
