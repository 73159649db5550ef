import { settleApprovals } from "@airlock/shared/db";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { playSegment } from "../../testing/played-guest.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import type { Context } from "../context.ts";
import { defineTool } from "../tools/define-tool.ts";
import { sleepTool } from "../tools/built-in/util.ts";
import { createRegistry } from "../tools/registry.ts";

const patience = { timeout: 30_000 };
let worker: TestWorker;
let context: Context;
/** The effects that took place. */
let sent: number[];
/** What "mail.slow" waits for. */
let slow: PromiseWithResolvers<null>;

beforeAll(async () => {
  worker = await openTestWorker();
  const input = z.strictObject({ to: z.number() });
  const described = { description: "For tests.", input, idempotent: true };
  const send = async (_: unknown, { to }: { to: number }) => {
    sent.push(to);
    return to;
  };
  const tools = [
    sleepTool,
    defineTool({ ...described, path: "mail.send", policy: "required", run: send }),
    defineTool({ ...described, path: "mail.slow", policy: "auto", run: () => slow.promise }),
  ];
  context = { ...worker.context, tools: createRegistry(tools.map((tool) => ({ tool, source: "test" }))) };
});
afterAll(() => worker.close());
beforeEach(() => {
  sent = [];
  slow = Promise.withResolvers();
});

async function approvalsOf(taskId: string) {
  const { db } = worker.context;
  return db
    .selectFrom("approvals")
    .selectAll()
    .where("task_id", "=", taskId)
    .orderBy("call_index")
    .orderBy("id")
    .execute();
}

const kindsOf = async (taskId: string) => (await approvalsOf(taskId)).map(({ kind, status }) => `${kind} ${status}`);

/** Approves the calls and tells the running segment, as one decision about many does. */
async function approve(taskId: string, ...calls: number[]): Promise<void> {
  const pending = (await approvalsOf(taskId)).filter(
    ({ status, call_index }) => status === "PENDING" && calls.includes(call_index),
  );
  const verdict = {
    status: "APPROVED",
    inputHash: null,
    decidedBy: "somebody",
    reason: null,
    editedInput: null,
    answer: null,
  } as const;
  await settleApprovals(
    context.db,
    pending.map(({ id }) => ({ id, ...verdict })),
    "live",
  );
  context.running.look([taskId]);
}

const statusesOf = async (taskId: string) => {
  const { db } = worker.context;
  const rows = await db
    .selectFrom("tool_calls")
    .select("status")
    .where("task_id", "=", taskId)
    .orderBy("index")
    .execute();
  return rows.map(({ status }) => status);
};

it("decisions that come while a program is run again are taken, also about calls that it has not made again yet", async () => {
  const id = await worker.submit();
  const first = await playSegment(context, await worker.claim(id));
  for (const to of [0, 1, 2]) first.guest.call("mail.send", { to });
  first.guest.idle();
  await first.over;
  await approve(id, 2);

  const { guest, over } = await playSegment(context, await worker.claim(id));
  const made = [guest.call("mail.send", { to: 0 })];
  await approve(id, 0, 1);
  // As long as a look at the database takes, and longer.
  await new Promise((resolve) => setTimeout(resolve, 200));
  made.push(guest.call("mail.send", { to: 1 }), guest.call("mail.send", { to: 2 }));
  guest.idle();
  for (const call of made) await expect.poll(() => guest.resultOf(call), patience).toMatchObject({ ok: true });
  guest.returns(null);
  await over;
  expect(new Set(sent)).toEqual(new Set([0, 1, 2]));
  expect(sent).toHaveLength(3);
});

it("a call that asks a second question is not decided by the first one's answer again", async () => {
  const id = await worker.submit({ maxToolCalls: 0 });
  const held = Promise.withResolvers<null>();
  let holding = false;
  const store: Context["store"] = {
    ...context.store,
    async write(one) {
      if (holding) await held.promise;
      return context.store.write(one);
    },
  };
  const { guest, over } = await playSegment({ ...context, store }, await worker.claim(id));
  guest.call("mail.send", { to: 0 });
  await expect.poll(() => kindsOf(id), patience).toEqual(["BUDGET PENDING"]);
  // Its second question is not in the database yet when the segment looks again.
  holding = true;
  await approve(id, 0);
  await new Promise((resolve) => setTimeout(resolve, 200));
  context.running.look([id]);
  await new Promise((resolve) => setTimeout(resolve, 200));
  held.resolve(null);
  guest.idle();
  await over;
  expect(await kindsOf(id)).toEqual(["BUDGET APPROVED", "TOOL_CALL PENDING"]);
  expect(await worker.task(id)).toMatchObject({ status: "PARKED" });
});

it("a call that is approved when its program has returned is not started any more", async () => {
  const id = await worker.submit();
  const { guest, over } = await playSegment(context, await worker.claim(id));
  guest.call("mail.slow", { to: 0 });
  guest.call("mail.send", { to: 1 });
  await expect.poll(() => kindsOf(id), patience).toEqual(["TOOL_CALL PENDING"]);
  await expect.poll(() => statusesOf(id), patience).toEqual(["STARTED", "WAITING"]);
  guest.returns("early");
  await guest.outcome;
  await approve(id, 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  slow.resolve(null);
  await over;
  expect(sent).toEqual([]);
  expect(await statusesOf(id)).toEqual(["SUCCEEDED", "CANCELLED"]);
  expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED" });
});

it("a sleep that its program did not wait for ends with the task", async () => {
  const id = await worker.submit();
  const { guest, over } = await playSegment(context, await worker.claim(id));
  guest.call("util.sleep", { ms: 60_000 });
  guest.returns(1);
  await over;
  expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED" });
  expect(await statusesOf(id)).toEqual(["CANCELLED"]);
});
