import { listApprovalsOf } from "@airlock/shared/db";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { playSegment } from "../../testing/played-guest.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import type { Context } from "../context.ts";
import { defineTool } from "../tools/define-tool.ts";
import { createRegistry } from "../tools/registry.ts";

const patience = { timeout: 30_000 };
let worker: TestWorker;
let context: Context;
beforeAll(async () => {
  worker = await openTestWorker();
  const described = { description: "For tests.", input: z.strictObject({}), run: async () => null };
  const tools = [
    defineTool({ ...described, path: "mail.send", policy: "required" }),
    defineTool({ ...described, path: "mail.note", policy: "auto" }),
    defineTool({ ...described, path: "mail.quiz", policy: "auto", parks: () => ({ kind: "question" }) }),
    defineTool({ ...described, path: "mail.nap", policy: "auto", parks: () => ({ kind: "timer", ms: 3600_000 }) }),
  ];
  context = { ...worker.context, tools: createRegistry(tools.map((tool) => ({ tool, source: "test" }))) };
});
afterAll(() => worker.close());

it.each([
  ["a call that needs approval", ["mail.send"], /mail.send needs a person.*replayable: false.*policy/],
  ["a question", ["mail.quiz"], /mail.quiz needs a person.*replayable: false/],
  ["a call beyond the budget", ["mail.note", "mail.note"], /beyond maxToolCalls needs a person.*replayable: false/],
  ["a long sleep", ["mail.nap"], /mail.nap would park.*replayable: false.*timer/],
])("a task that is never run again is told that it cannot wait: %s", async (_, paths, message) => {
  const id = await worker.submit({ replayable: false, maxToolCalls: 1 });
  const { guest, over } = await playSegment(context, await worker.claim(id));
  const calls = paths.map((path) => guest.call(path, {}));
  const last = calls.at(-1) as (typeof calls)[number];
  await expect.poll(() => guest.resultOf(last), patience).toBeDefined();
  expect(guest.resultOf(last)).toMatchObject({
    code: "TOOL_DENIED",
    message: expect.stringMatching(message) as string,
  });
  guest.idle();
  guest.returns("went on");
  await over;
  expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", segments: 1 });
  expect((await listApprovalsOf(context.db, [id])).size).toBe(0);
});

it("a task that is never run again waits for its own long timer in its slot", async () => {
  const id = await worker.submit({ replayable: false });
  const { guest, over } = await playSegment(context, await worker.claim(id));
  guest.idle(3600_000);
  // Had it been asked to park, it would have ended by now.
  guest.returns("waited");
  await over;
  expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", output: '"waited"' });
});

it("a task that is never run again and whose worker drains does not go to another", async () => {
  const id = await worker.submit({ replayable: false });
  const { over } = await playSegment(context, await worker.claim(id));
  context.running.stop([id], "drain");
  await over;
  expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "WORKER_LOST" });
});
