import { createHash } from "node:crypto";
import { newId } from "@airlock/shared/contracts";
import { cancelTasks, findTask, listEvents, settleApprovals } from "@airlock/shared/db";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../../testing/gateway.ts";
import { CANCEL, DECIDE, SUBMIT, type Submitted } from "../../../testing/operations.ts";
import { type AskedFor, MAIL, parkTask, parkTasks, publishTestTools } from "../../../testing/parked-task.ts";

let gateway: TestGateway;
let projectId: string;
let admin: Client;
let alice: Client;
let bob: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  const tenant = await gateway.tenant("approvers");
  [projectId, admin] = [tenant.projectId, tenant.client];
  alice = (await gateway.key(projectId, "alice", ["approve", "read"])).client;
  bob = (await gateway.key(projectId, "bob", ["approve"])).client;
  await publishTestTools(gateway.db);
});
afterAll(() => gateway.stop());

const approve = ({ id, inputHash }: AskedFor, more: object = {}) => ({
  input: { id, inputHash, decision: "APPROVE", ...more },
});
const deny = ({ id, inputHash }: AskedFor, more: object = {}) => ({
  input: { id, inputHash, decision: "DENY", ...more },
});
const statusOf = async (taskId: string) => (await findTask(gateway.db, projectId, taskId))?.status;

test("an approval wakes its parked task, and the answer says the same as a later query", async () => {
  const task = await parkTask(gateway.db, projectId);
  const { decideApproval } = await alice.data<{ decideApproval: Record<string, unknown> }>(
    DECIDE,
    approve(task.approval, { reason: "fine" }),
  );
  expect(decideApproval).toMatchObject({ status: "APPROVED", decidedBy: "alice", reason: "fine", editedInput: null });
  const query = `query ($id: ID!) { task(id: $id) { status approvals {
    id status decidedBy decidedAt reason editedInput inputHash task { id status } } } }`;
  const { task: seen } = await alice.data<{ task: { status: string; approvals: unknown[] } }>(query, { id: task.id });
  expect(seen).toEqual({ status: "QUEUED", approvals: [decideApproval] });
  const events = await listEvents(gateway.db, task.id, { after: 0, limit: 10 });
  expect(events.at(-1)).toMatchObject({ type: "approval.decided" });
  expect(JSON.parse(events.at(-1)?.data ?? "")).toEqual({
    approvalId: task.approval.id,
    decision: "APPROVED",
    by: "alice",
  });
});

test("two approvers at once on 100 approvals: 100 decisions, and 100 conflicts that name the winner", async () => {
  const tasks = await parkTasks(gateway.db, projectId, 100);
  const attempts = tasks.flatMap(({ approval }) => [
    { approval, who: "alice", sent: alice.send<{ decideApproval: { decidedBy: string } }>(DECIDE, approve(approval)) },
    { approval, who: "bob", sent: bob.send<{ decideApproval: { decidedBy: string } }>(DECIDE, deny(approval)) },
  ]);
  const answers = await Promise.all(attempts.map(async ({ sent, ...attempt }) => ({ ...attempt, ...(await sent) })));
  const winners = new Map(answers.filter((one) => one.data).map((one) => [one.approval.id, one.who]));
  expect(winners.size).toBe(100);
  expect(answers.filter((one) => one.data)).toHaveLength(100);
  for (const { approval, who, errors } of answers.filter((one) => !one.data)) {
    const winner = winners.get(approval.id);
    expect(winner).not.toBe(who);
    expect(errors?.[0]?.extensions.code).toBe("CONFLICT");
    expect(errors?.[0]?.message).toContain(`${winner === "alice" ? "APPROVED" : "DENIED"} by ${winner} at 20`);
  }
  const { rows } = await countAudits(tasks.map(({ approval }) => approval.id));
  expect(rows[0]?.n).toBe(100);
});

describe("what is not pending any more is refused, and says why", () => {
  test("denied before", async () => {
    const task = await parkTask(gateway.db, projectId);
    await bob.data(DECIDE, deny(task.approval, { reason: "no" }));
    const failure = await alice.failure(DECIDE, approve(task.approval));
    expect(failure).toMatchObject({ code: "CONFLICT", retryable: false });
    expect(failure.message).toContain("DENIED by bob");
  });

  test("approved before: an approval is used once", async () => {
    const task = await parkTask(gateway.db, projectId);
    await alice.data(DECIDE, approve(task.approval));
    const { job } = (await findTask(gateway.db, projectId, task.id)) ?? {};
    expect((await alice.failure(DECIDE, approve(task.approval))).message).toContain("APPROVED by alice");
    expect((await findTask(gateway.db, projectId, task.id))?.job).toBe(job);
  });

  test("the task was cancelled", async () => {
    const task = await parkTask(gateway.db, projectId);
    await admin.data(CANCEL, { id: task.id });
    const failure = await alice.failure(DECIDE, approve(task.approval));
    expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("cancelled") });
    expect(await statusOf(task.id)).toBe("CANCELLED");
  });

  test("the task is to be cancelled, and its worker, lost or not told, has not ended it yet", async () => {
    const task = await parkTask(gateway.db, projectId, { running: true });
    await admin.data(CANCEL, { id: task.id });
    expect(await statusOf(task.id)).toBe("RUNNING");
    for (const decision of [
      approve(task.approval),
      deny(task.approval),
      approve(task.approval, { remember: "TASK" }),
    ]) {
      const failure = await alice.failure(DECIDE, decision);
      expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("is being cancelled") });
    }
  });

  test("its time is up, whether or not the sweeper has been there", async () => {
    const task = await parkTask(gateway.db, projectId, { asks: [{ expiresInMs: -1 }] });
    for (const swept of [false, true]) {
      if (swept) await settleApprovals(gateway.db, [expiry(task.approval)], "overdue");
      const failure = await alice.failure(DECIDE, approve(task.approval));
      expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("expired") });
      expect((await alice.failure(DECIDE, deny(task.approval))).code).toBe("CONFLICT");
    }
  });

  test("a cancellation that races a decision ends the task, whichever comes first", async () => {
    const tasks = await parkTasks(gateway.db, projectId, 20);
    await Promise.all(
      tasks.flatMap(({ id, approval }) => [
        cancelTasks(gateway.db, projectId, { taskId: id }),
        alice.send(DECIDE, approve(approval)),
      ]),
    );
    for (const { id } of tasks) expect(await statusOf(id)).toBe("CANCELLED");
  });
});

describe("what was shown is what is decided", () => {
  const otherHash = createHash("sha256").update("another input").digest("hex");
  test("a changed byte, the hash of another input or nonsense is a conflict, and nothing happens", async () => {
    const task = await parkTask(gateway.db, projectId, { asks: [{}, { input: { to: "c@d" } }] });
    const [first, second] = task.approvals as [AskedFor, AskedFor];
    const changed = `${first.inputHash.startsWith("0") ? "1" : "0"}${first.inputHash.slice(1)}`;
    for (const inputHash of [changed, second.inputHash, otherHash, "", "zz", `${first.inputHash}00`, "\0"]) {
      const failure = await alice.failure(DECIDE, approve({ ...first, inputHash }));
      expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("inputHash") });
    }
    expect(await statusOf(task.id)).toBe("PARKED");
  });

  test("a hash in capitals is the same hash", async () => {
    const { approval } = await parkTask(gateway.db, projectId);
    await alice.data(DECIDE, approve({ ...approval, inputHash: approval.inputHash.toUpperCase() }));
  });
});

describe("an edited input", () => {
  test("is kept beside the asked one, in the approval and in the audit log", async () => {
    const task = await parkTask(gateway.db, projectId);
    const editedInput = { to: "boss@b" };
    const { decideApproval } = await alice.data<{ decideApproval: unknown }>(
      DECIDE,
      approve(task.approval, { editedInput }),
    );
    expect(decideApproval).toMatchObject({ editedInput, inputHash: task.approval.inputHash });
    const query = "query ($id: ID!) { task(id: $id) { toolCalls { input approval { editedInput } } } }";
    expect(await alice.data(query, { id: task.id })).toEqual({
      task: { toolCalls: [{ input: { to: "a@b" }, approval: { editedInput } }] },
    });
    const row = await gateway.db
      .selectFrom("audit_log")
      .selectAll()
      .where("subject", "=", task.approval.id)
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ project_id: projectId, action: "approval.decided" });
    expect(JSON.parse(row.data)).toMatchObject({
      decision: "APPROVED",
      askedInput: { to: "a@b" },
      editedInput,
      path: MAIL,
    });
  });

  test.each([
    ["that does not fit the tool's schema", { editedInput: { to: 1 } }],
    ["with a field that the tool does not know", { editedInput: { to: "a", bcc: "b" } }],
    ["that is no object", { editedInput: "x" }],
    ["with DENY", { editedInput: { to: "a" }, decision: "DENY" }],
    ["that is to be remembered for the asked input", { editedInput: { to: "a" }, remember: "TASK" }],
  ])("%s is refused", async (_, more) => {
    const task = await parkTask(gateway.db, projectId);
    expect(await alice.failure(DECIDE, approve(task.approval, more))).toMatchObject({ code: "BAD_INPUT" });
    expect(await statusOf(task.id)).toBe("PARKED");
  });

  test("that is too large is refused", async () => {
    const { approval } = await parkTask(gateway.db, projectId);
    const editedInput = { to: "x".repeat(1024 * 1024) };
    expect((await alice.failure(DECIDE, approve(approval, { editedInput }))).code).toBe("TOO_LARGE");
  });

  test("goes with a tool call only", async () => {
    const { approval } = await parkTask(gateway.db, projectId, { asks: [{ kind: "BUDGET" }] });
    expect((await alice.failure(DECIDE, approve(approval, { editedInput: { to: "a" } }))).code).toBe("BAD_INPUT");
  });
});

test("questions are answered and not approved, but everything can be denied; a budget is approved", async () => {
  for (const kind of ["QUESTION", "UNKNOWN_OUTCOME"] as const) {
    const { approval } = await parkTask(gateway.db, projectId, { asks: [{ kind }] });
    const failure = await alice.failure(DECIDE, approve(approval));
    expect(failure).toMatchObject({ code: "BAD_INPUT", message: expect.stringContaining("answerQuestion") });
    expect(await alice.data(DECIDE, deny(approval))).toMatchObject({ decideApproval: { status: "DENIED" } });
  }
  const { approval } = await parkTask(gateway.db, projectId, { asks: [{ kind: "BUDGET" }] });
  await alice.data(DECIDE, approve(approval));
});

test.each(["x".repeat(4097), "a\0", "\ud800"])("a reason that cannot be kept is refused", async (reason) => {
  const { approval } = await parkTask(gateway.db, projectId);
  expect((await alice.failure(DECIDE, approve(approval, { reason }))).code).toBe("BAD_INPUT");
});

test("a key does not decide on what it submitted itself, unless the project allows it", async () => {
  const { keyId, client } = await gateway.key(projectId, "both", ["submit", "approve"]);
  const { approval } = await parkTask(gateway.db, projectId, { task: { submittedBy: keyId } });
  expect(await client.failure(DECIDE, approve(approval))).toMatchObject({ code: "FORBIDDEN" });
  expect(await client.failure(DECIDE, deny(approval))).toMatchObject({ code: "FORBIDDEN" });
  await alice.data(DECIDE, approve(approval));

  const { submitTask } = await gateway.admin.data<Submitted>(SUBMIT, { input: { code: "1" } });
  const own = await gateway.db
    .selectFrom("tasks")
    .select(["project_id", "submitted_by"])
    .where("id", "=", submitTask.id)
    .executeTakeFirstOrThrow();
  const theirs = await parkTask(gateway.db, own.project_id, { task: { submittedBy: own.submitted_by } });
  await gateway.admin.data(DECIDE, approve(theirs.approval));
});

test("another project's approval answers exactly like an unknown one, and stays as it is", async () => {
  const stranger = (await gateway.tenant("strangers")).client;
  const task = await parkTask(gateway.db, projectId);
  const foreign = await stranger.send(DECIDE, approve(task.approval));
  expect(foreign.errors?.[0]?.extensions.code).toBe("NOT_FOUND");
  for (const id of [newId(), "not-an-id", "", "\0"])
    expect(await stranger.send(DECIDE, approve({ ...task.approval, id }))).toEqual(foreign);
  expect(await statusOf(task.id)).toBe("PARKED");
});

test("a decision reaches a task that still runs without disturbing it", async () => {
  const task = await parkTask(gateway.db, projectId, { running: true });
  await alice.data(DECIDE, approve(task.approval));
  expect(await findTask(gateway.db, projectId, task.id)).toMatchObject({ status: "RUNNING", wakes: 1 });
});

function expiry({ id }: AskedFor) {
  const nothing = { inputHash: null, decidedBy: null, reason: null, editedInput: null, answer: null };
  return { id, status: "EXPIRED" as const, ...nothing };
}

function countAudits(ids: readonly string[]) {
  return sql<{ n: number }>`
    select count(*)::integer as n from audit_log where subject = any(${ids}::text[]) and action = 'approval.decided'
  `.execute(gateway.db);
}
