import { giveBack, listCallsOf } from "@airlock/shared/db";
import { afterAll, beforeAll, expect, it } from "vitest";
import { playSegment } from "../../testing/played-guest.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import type { Context } from "../context.ts";
import { increment } from "../tools/built-in/kv.ts";
import { echo } from "../tools/built-in/util.ts";
import { createRegistry } from "../tools/registry.ts";

const patience = { timeout: 30_000 };
let worker: TestWorker;
beforeAll(async () => {
  worker = await openTestWorker();
});
afterAll(() => worker.close());

async function callsOf(taskId: string) {
  const calls = await listCallsOf(worker.context.db, [taskId], { after: -1, limit: 100 });
  return (calls.get(taskId) ?? []).map(({ index, path, status }) => `${index} ${path} ${status}`);
}

it("a segment that is lost between a call's row and that of an earlier call: the re-run makes the missing one anew", async () => {
  const tools = createRegistry([echo, increment].map((tool) => ({ tool, source: "built-in" })));
  const lost = Promise.withResolvers<never>();
  const losing: Context = {
    ...worker.context,
    tools,
    store: { ...worker.context.store, transact: () => lost.promise },
  };
  const id = await worker.submit();
  const task = await worker.claim(id);
  const first = await playSegment(losing, task);
  first.guest.call("kv.increment", { key: "n" });
  first.guest.call("util.echo", { value: 1 });
  // Its outcome is behind the write that never ends.
  await expect.poll(() => callsOf(id), patience).toEqual(["1 util.echo STARTED"]);
  await giveBack(losing.db, { taskId: id, fence: task.segments }, "sandbox lost");

  const { guest, over } = await playSegment({ ...worker.context, tools }, await worker.claim(id));
  const counted = guest.call("kv.increment", { key: "n" });
  const echoed = guest.call("util.echo", { value: 1 });
  await expect.poll(() => guest.resultOf(echoed), patience).toEqual({ ok: true, value: "1" });
  await expect.poll(() => guest.resultOf(counted), patience).toEqual({ ok: true, value: "1" });
  guest.returns("done");
  await over;
  expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", losses: 0 });
  expect(await callsOf(id)).toEqual(["1 util.echo SUCCEEDED", "2 kv.increment SUCCEEDED"]);
  lost.reject(new Error("the worker is gone"));
  await first.over;
});
