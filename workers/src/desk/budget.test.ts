import { forkTask, settleApprovals } from "@airlock/shared/db";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { type PlayedGuest, playSegment } from "../../testing/played-guest.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import type { Context } from "../context.ts";
import type { GuestCall } from "../sandboxes/port.ts";
import { defineTool } from "../tools/define-tool.ts";
import { createRegistry } from "../tools/registry.ts";

const patience = { timeout: 30_000 };
let worker: TestWorker;
let context: Context;
beforeAll(async () => {
  worker = await openTestWorker();
  const described = { description: "For tests.", input: z.strictObject({}), idempotent: true, run: async () => null };
  const tools = [
    defineTool({ ...described, path: "mail.send", policy: "required" }),
    defineTool({ ...described, path: "mail.note", policy: "auto" }),
  ];
  context = { ...worker.context, tools: createRegistry(tools.map((tool) => ({ tool, source: "test" }))) };
});
afterAll(() => worker.close());

async function pendingOf(taskId: string) {
  const all = context.db.selectFrom("approvals").selectAll().where("task_id", "=", taskId);
  return all.where("status", "=", "PENDING").execute();
}

const kindsOf = async (taskId: string) => (await pendingOf(taskId)).map(({ kind }) => kind);

async function approve(taskId: string): Promise<void> {
  const outcome = { status: "APPROVED", inputHash: null, decidedBy: "somebody", reason: null } as const;
  const said = (await pendingOf(taskId)).map(({ id }) => ({ id, ...outcome, editedInput: null, answer: null }));
  await settleApprovals(context.db, said, "live");
  context.running.look([taskId]);
}

/** As a guest that waits for this call, and has no other to wait for. */
async function outcomeOf(guest: PlayedGuest, call: GuestCall) {
  await expect
    .poll(() => (guest.resultOf(call) === undefined && guest.idle(), guest.resultOf(call)), patience)
    .toBeDefined();
  return guest.resultOf(call);
}

it.each(["while it runs", "after it has parked"])(
  "a refused call is none of the budget's, and others are: the task that is answered %s asks at the same call",
  async (when) => {
    const id = await worker.submit({ maxToolCalls: 2 });
    const first = await playSegment(context, await worker.claim(id));
    const start = ({ guest }: typeof first) => [guest.call("no.such", {}), guest.call("mail.send", {})] as const;
    const made = start(first);
    await expect.poll(() => kindsOf(id), patience).toEqual(["TOOL_CALL"]);
    let [now, [refused, sent]] = [first, made];
    if (when === "after it has parked") {
      first.guest.idle();
      await first.over;
      await approve(id);
      now = await playSegment(context, await worker.claim(id));
      [refused, sent] = start(now);
    } else await approve(id);
    expect(await outcomeOf(now.guest, refused)).toMatchObject({ code: "UNKNOWN_TOOL" });
    expect(await outcomeOf(now.guest, sent)).toMatchObject({ ok: true });
    expect(await outcomeOf(now.guest, now.guest.call("mail.note", {}))).toMatchObject({ ok: true });
    now.guest.call("mail.note", {});
    await expect.poll(() => kindsOf(id), patience).toEqual(["BUDGET"]);
    now.guest.idle();
    await now.over;
  },
);

it("a fork may make as many calls as its original, whose budget was raised", async () => {
  const { db, projectId } = { ...worker.context, ...worker };
  const id = await worker.submit({ maxToolCalls: 1 });
  for (const calls of [2, 3]) {
    const { guest, over } = await playSegment(context, await worker.claim(id));
    const made = Array.from({ length: calls }, () => guest.call("mail.note", {}));
    for (const call of made.slice(0, -1)) await outcomeOf(guest, call);
    await expect.poll(() => kindsOf(id), patience).toEqual(["BUDGET"]);
    guest.idle();
    await over;
    if (calls === 2) await approve(id);
  }
  const source = { taskId: id, projectId, submittedBy: null };
  const forked = await db.transaction().execute((tx) => forkTask(tx, source));
  const second = await db.transaction().execute((tx) => forkTask(tx, { ...source, taskId: forked?.id ?? "" }));
  const budgets = [];
  for (const task of [id, forked?.id ?? "", second?.id ?? ""]) {
    await approve(task);
    budgets.push((await worker.claim(task)).budget);
  }
  expect(budgets).toEqual([0, 0, 0]);
});
