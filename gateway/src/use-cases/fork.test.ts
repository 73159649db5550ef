import { newId } from "@airlock/shared/contracts";
import { findTask } from "@airlock/shared/db";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { CANCEL, DECIDE, FORK } from "../../testing/operations.ts";
import { type AskedFor, type ParkedTask, parkTask, publishTestTools } from "../../testing/parked-task.ts";

let gateway: TestGateway;
let projectId: string;
let admin: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  const tenant = await gateway.tenant("forkers");
  [projectId, admin] = [tenant.projectId, tenant.client];
  await publishTestTools(gateway.db);
});
afterAll(() => gateway.stop());

interface Forked {
  readonly forkTask: {
    readonly id: string;
    readonly status: string;
    readonly forkOf: { readonly id: string };
    readonly approvals: readonly { readonly id: string; readonly status: string }[];
  };
}
const fork = async (variables: object) => (await admin.data<Forked>(FORK, variables)).forkTask;
const approve = ({ id, inputHash }: AskedFor, more: object = {}) => ({ id, inputHash, decision: "APPROVE", ...more });
const statusOf = async (id: string) => (await findTask(gateway.db, projectId, id))?.status;

/** Everything that is stored of a task, byte for byte. */
async function everything({ id }: ParkedTask): Promise<unknown> {
  const { rows } = await sql`
    select t.*, (select json_agg(c order by c.index) from tool_calls c where c.task_id = t.id) as calls,
      (select json_agg(p order by p.id) from approvals p where p.task_id = t.id) as approvals,
      (select json_agg(e order by e.seq) from events e where e.task_id = t.id) as events,
      (select row_to_json(k) from kept_guests k where k.task_id = t.id) as kept
    from tasks t where t.id = ${id}
  `.execute(gateway.db);
  return rows;
}
const count = async (): Promise<number> =>
  Number(
    (
      await gateway.db
        .selectFrom("tasks")
        .select((eb) => eb.fn.countAll().as("n"))
        .executeTakeFirstOrThrow()
    ).n,
  );

test("a fork has its own answers; the original is untouched and is answered the other way", async () => {
  const original = await parkTask(gateway.db, projectId, { asks: [{}, { input: { to: "c" } }] });
  const [first, second] = original.approvals as [AskedFor, AskedFor];
  const before = await everything(original);
  const forked = await fork({ id: original.id, decisions: [approve(first, { reason: "try it" })] });
  expect(await everything(original)).toEqual(before);
  expect(forked).toMatchObject({ status: "QUEUED", forkOf: { id: original.id } });
  expect(forked.approvals.map(({ status }) => status)).toEqual(["APPROVED", "PENDING"]);
  const known = new Set([first.id, second.id]);
  expect(forked.approvals.filter(({ id }) => known.has(id))).toEqual([]);

  const told = await admin.data<{ task: { events: { seq: number; type: string; data: object }[] } }>(
    "query ($id: ID!) { task(id: $id) { events { seq type data } } }",
    { id: forked.id },
  );
  expect(told.task.events).toMatchObject([
    { seq: 1, type: "task.queued", data: { forkOf: original.id } },
    { seq: 2, type: "approval.requested", data: { approvalId: forked.approvals[0]?.id, index: 0 } },
    { seq: 3, type: "approval.requested", data: { approvalId: forked.approvals[1]?.id, index: 1 } },
    { seq: 4, type: "task.parked", data: { waitingFor: "approval" } },
    { seq: 5, type: "approval.decided", data: { approvalId: forked.approvals[0]?.id, decision: "APPROVED" } },
  ]);

  await admin.data(DECIDE, { input: approve(first, { decision: "DENY" }) });
  const own = forked.approvals[1] as { id: string };
  await admin.data(DECIDE, { input: approve({ id: own.id, inputHash: second.inputHash }) });
  const query = "query ($id: ID!) { task(id: $id) { toolCalls { index input approval { status task { id } } } } }";
  const call = (index: number, to: string, status: string, id: string) => ({
    index,
    input: { to },
    approval: { status, task: { id } },
  });
  expect(await admin.data(query, { id: original.id })).toEqual({
    task: { toolCalls: [call(0, "a@b", "DENIED", original.id), call(1, "c", "PENDING", original.id)] },
  });
  expect(await admin.data(query, { id: forked.id })).toEqual({
    task: { toolCalls: [call(0, "a@b", "APPROVED", forked.id), call(1, "c", "APPROVED", forked.id)] },
  });
});

test("without decisions the fork waits like the original, with approvals and a guest of its own", async () => {
  const original = await parkTask(gateway.db, projectId);
  const forked = await fork({ id: original.id });
  expect(forked).toMatchObject({ status: "PARKED", approvals: [{ status: "PENDING" }] });
  expect(forked.approvals[0]?.id).not.toBe(original.approval.id);
  const kept = await gateway.db.selectFrom("kept_guests").selectAll().where("task_id", "=", forked.id).execute();
  expect(kept).toMatchObject([{ state: Buffer.from("state") }]);
});

describe("all or nothing: a fork is refused with the first decision that cannot stand", () => {
  test("a wrong hash, a question, an expired, settled, repeated, unknown or foreign approval", async () => {
    const asks = [{}, { kind: "QUESTION" }, { expiresInMs: -1 }, {}] as const;
    const original = await parkTask(gateway.db, projectId, { asks, running: false });
    const other = await parkTask(gateway.db, projectId);
    const [good, question, expired] = original.approvals as [AskedFor, AskedFor, AskedFor];
    const before = [await everything(original), await count()];
    const refused: [object[], string][] = [
      [[approve(good), approve(good)], "BAD_INPUT"],
      [[approve(good), approve({ ...good, id: other.approval.id })], "NOT_FOUND"],
      [[approve(good), approve({ ...good, id: newId() })], "NOT_FOUND"],
      [[approve(good), approve({ ...good, id: "x" })], "NOT_FOUND"],
      [[approve({ ...good, inputHash: "00" })], "CONFLICT"],
      [[approve(good), approve(question)], "BAD_INPUT"],
      [[approve(expired)], "CONFLICT"],
      [[approve(good, { editedInput: { to: 1 } })], "BAD_INPUT"],
      [[approve(good, { remember: "SESSION" })], "BAD_INPUT"],
    ];
    for (const [decisions, code] of refused)
      expect(await admin.failure(FORK, { id: original.id, decisions }), JSON.stringify(decisions)).toMatchObject({
        code,
      });
    expect([await everything(original), await count()]).toEqual(before);
  });

  test("an approval that was decided on the original names who decided", async () => {
    const original = await parkTask(gateway.db, projectId, { running: true, asks: [{}] });
    await admin.data(DECIDE, { input: approve(original.approval) });
    await gateway.db.updateTable("tasks").set({ status: "PARKED" }).where("id", "=", original.id).execute();
    const failure = await admin.failure(FORK, { id: original.id, decisions: [approve(original.approval)] });
    expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("APPROVED by k") });
  });
});

test("only a parked task is forked", async () => {
  const running = await parkTask(gateway.db, projectId, { running: true });
  const cancelled = await parkTask(gateway.db, projectId);
  await admin.data(CANCEL, { id: cancelled.id });
  for (const { id } of [running, cancelled]) {
    const failure = await admin.failure(FORK, { id });
    expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining((await statusOf(id)) ?? "?") });
  }
  const foreign = await parkTask(gateway.db, (await gateway.tenant("far away")).projectId);
  const answers = await Promise.all([foreign.id, newId(), "x"].map((id) => admin.send(FORK, { id })));
  expect(answers[0]?.errors?.[0]?.extensions.code).toBe("NOT_FOUND");
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

test("what is remembered with a fork's decision holds for the fork, not for the original", async () => {
  const original = await parkTask(gateway.db, projectId, { asks: [{}, {}] });
  const [first] = original.approvals as [AskedFor];
  const forked = await fork({ id: original.id, decisions: [approve(first, { remember: "TASK" })] });
  const policy = await gateway.db.selectFrom("policies").selectAll().where("scope", "=", "TASK").executeTakeFirst();
  expect(policy).toMatchObject({ scope_id: forked.id, mode: "AUTO" });
  expect(forked.approvals.map(({ status }) => status)).toEqual(["APPROVED", "CANCELLED"]);
  expect(await statusOf(original.id)).toBe("PARKED");
});

test("forking needs submit, and deciding with it approve too; nobody approves their own program by a detour", async () => {
  const submitter = await gateway.key(projectId, "submitter", ["submit"]);
  const both = await gateway.key(projectId, "both", ["submit", "approve"]);
  const original = await parkTask(gateway.db, projectId, { task: { submittedBy: both.keyId } });
  const decisions = [approve(original.approval)];
  expect((await submitter.client.failure(FORK, { id: original.id, decisions })).message).toContain('"approve"');
  await submitter.client.data(FORK, { id: original.id });
  expect((await both.client.failure(FORK, { id: original.id, decisions })).code).toBe("FORBIDDEN");
  const { forkTask } = await submitter.client.data<Forked>(FORK, { id: original.id });
  const input = approve({ id: forkTask.approvals[0]?.id ?? "", inputHash: original.approval.inputHash });
  expect((await both.client.failure(DECIDE, { input })).code).toBe("FORBIDDEN");
});
