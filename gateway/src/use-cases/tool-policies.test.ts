import { newId } from "@airlock/shared/contracts";
import { findTask } from "@airlock/shared/db";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { DECIDE, SET_POLICY } from "../../testing/operations.ts";
import { MAIL, parkTask, parkTasks } from "../../testing/parked-task.ts";

let gateway: TestGateway;
let projectId: string;
let admin: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());
beforeEach(async () => {
  const tenant = await gateway.tenant("ruled");
  [projectId, admin] = [tenant.projectId, tenant.client];
});

const REMOVE = "mutation ($id: ID!) { removeToolPolicy(id: $id) }";
const LIST = "{ toolPolicies { id pattern mode scope expiresAt createdBy } }";
const set = async (pattern: string, mode: string, more: object = {}) =>
  (await admin.data<{ setToolPolicy: { id: string } }>(SET_POLICY, { pattern, mode, ...more })).setToolPolicy;
const list = async () => (await admin.data<{ toolPolicies: { id: string; mode: string }[] }>(LIST)).toolPolicies;

/** The task's state, its approval's, and why. */
async function look({ id }: { id: string }): Promise<(string | null | undefined)[]> {
  const task = await findTask(gateway.db, projectId, id);
  const approval = await gateway.db.selectFrom("approvals").selectAll().where("task_id", "=", id).executeTakeFirst();
  return [task?.status, approval?.status, approval?.reason];
}
const UNTOUCHED = ["PARKED", "PENDING", null];
const JUDGED_ANEW = ["QUEUED", "CANCELLED", "superseded"];

test("a policy is set, replaced and removed, and each leaves its trace in the audit log", async () => {
  const first = await set("mail.*", "REQUIRED", { approvalMs: 1_000 });
  expect(first).toMatchObject({
    pattern: "mail.*",
    scope: "PROJECT",
    approvalMs: 1_000,
    createdBy: "k",
    expiresAt: null,
  });
  const second = await set("mail.*", "DENY", { expiresAt: "2999-01-01T00:00:00.000Z" });
  expect(await list()).toMatchObject([{ id: second.id, mode: "DENY", expiresAt: "2999-01-01T00:00:00.000Z" }]);
  expect(await admin.data(REMOVE, { id: second.id })).toEqual({ removeToolPolicy: true });
  expect(await list()).toEqual([]);
  expect(await admin.failure(REMOVE, { id: second.id })).toMatchObject({ code: "NOT_FOUND" });
  const audits = await gateway.db
    .selectFrom("audit_log")
    .select(["action", "subject"])
    .where("project_id", "=", projectId)
    .where("action", "like", "tool_policy.%")
    .orderBy("id")
    .execute();
  expect(audits).toEqual([
    { action: "tool_policy.set", subject: first.id },
    { action: "tool_policy.set", subject: second.id },
    { action: "tool_policy.removed", subject: second.id },
  ]);
});

test.each([
  ["", {}],
  ["mail..send", {}],
  ["a.**b", {}],
  ["mail.send; drop", {}],
  ["x".repeat(300), {}],
  [MAIL, { expiresAt: "2001-01-01T00:00:00Z" }],
  [MAIL, { approvalMs: 0 }],
  [MAIL, { approvalMs: -5 }],
])("the policy %j %j is refused and stores nothing", async (pattern, more) => {
  expect((await admin.failure(SET_POLICY, { pattern, mode: "AUTO", ...more })).code).toBe("BAD_INPUT");
  expect(await list()).toEqual([]);
});

describe("calls that wait are judged anew at once", () => {
  test.each(["AUTO", "DENY"])("by a policy that says %s", async (mode) => {
    const waiting = await parkTask(gateway.db, projectId);
    await set("mail.**", mode);
    expect(await look(waiting)).toEqual(JUDGED_ANEW);
    const approval = { ...waiting.approval, decision: "APPROVE" };
    const failure = await admin.failure(DECIDE, { input: approval });
    expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("superseded") });
  });

  test("and stay as they are where their mode is the same, or the policy is about something else", async () => {
    const waiting = await parkTask(gateway.db, projectId);
    await set("http.*", "AUTO");
    await set(MAIL, "REQUIRED");
    await set("mail.*", "DENY");
    expect(await look(waiting)).toEqual(UNTOUCHED);
  });

  test("when the policy that held them is removed or outranked", async () => {
    const ask = { path: "util.echo", input: {}, defaultMode: "AUTO" } as const;
    const removed = await set("util.*", "REQUIRED");
    const waiting = await parkTask(gateway.db, projectId, { asks: [ask] });
    const byDefault = await parkTask(gateway.db, projectId);
    await admin.data(REMOVE, { id: removed.id });
    expect(await look(waiting)).toEqual(JUDGED_ANEW);
    expect(await look(byDefault)).toEqual(UNTOUCHED);
  });

  test("and not those of another project, nor questions, nor budgets", async () => {
    const elsewhere = await gateway.tenant("unruled");
    const foreign = await parkTask(gateway.db, elsewhere.projectId);
    const others = await parkTask(gateway.db, projectId, { asks: [{ kind: "QUESTION" }, { kind: "BUDGET" }] });
    await set("**", "AUTO");
    expect((await findTask(gateway.db, elsewhere.projectId, foreign.id))?.status).toBe("PARKED");
    expect(await look(others)).toEqual(UNTOUCHED);
  });

  test("each of 2,500 once, also when two policies change at the same moment", async () => {
    const mails = await parkTasks(gateway.db, projectId, 1_250);
    const calls = await parkTasks(gateway.db, projectId, 1_250, { asks: [{ path: "phone.call" }] });
    await Promise.all([set("mail.*", "AUTO"), set("phone.*", "DENY"), set("**", "REQUIRED")]);
    const { rows } = await gateway.db
      .selectFrom("tasks")
      .select(["status", "wakes", "job"])
      .distinct()
      .where("project_id", "=", projectId)
      .execute()
      .then((rows) => ({ rows }));
    expect(rows).toEqual([{ status: "QUEUED", wakes: 1, job: 2 }]);
    expect(await look(mails[0] as { id: string })).toEqual(JUDGED_ANEW);
    expect(await look(calls[0] as { id: string })).toEqual(JUDGED_ANEW);
  });
});

test("a call in flight on a running task is superseded without disturbing the task", async () => {
  const waiting = await parkTask(gateway.db, projectId, { running: true });
  await set(MAIL, "AUTO");
  expect(await look(waiting)).toEqual(["RUNNING", "CANCELLED", "superseded"]);
});

test("another project's policy cannot be removed, and answers like an unknown one", async () => {
  const stranger = (await gateway.tenant("envious")).client;
  const { id } = await set(MAIL, "DENY");
  const foreign = await stranger.send(REMOVE, { id });
  expect(foreign.errors?.[0]?.extensions.code).toBe("NOT_FOUND");
  for (const unknown of [newId(), "x"]) expect(await stranger.send(REMOVE, { id: unknown })).toEqual(foreign);
  expect(await list()).toHaveLength(1);
  expect(await stranger.data(LIST)).toEqual({ toolPolicies: [] });
});
