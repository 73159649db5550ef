import { findTask, insertPolicy, listPolicies, type PolicyRow } from "@airlock/shared/db";
import { afterAll, beforeEach, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../../testing/gateway.ts";
import { DECIDE, DECIDE_MANY, SET_POLICY } from "../../../testing/operations.ts";
import { type AskedFor, MAIL, parkTask, parkTasks, publishTestTools } from "../../../testing/parked-task.ts";

let gateway: TestGateway;
let projectId: string;
let admin: Client;
let approver: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  await publishTestTools(gateway.db);
});
afterAll(() => gateway.stop());
beforeEach(async () => {
  const tenant = await gateway.tenant("remembering");
  [projectId, admin] = [tenant.projectId, tenant.client];
  approver = (await gateway.key(projectId, "alice", ["approve"])).client;
});

const decide = ({ id, inputHash }: AskedFor, more: object) => ({
  input: { id, inputHash, decision: "APPROVE", ...more },
});
const policies = async (): Promise<Partial<PolicyRow>[]> =>
  (await listPolicies(gateway.db, projectId)).map(({ pattern, mode, scope, scope_id, input_hash, created_by }) => ({
    pattern,
    mode,
    scope,
    scope_id,
    input_hash,
    created_by,
  }));
const bytes = (approval: AskedFor): Buffer => Buffer.from(approval.inputHash, "hex");
const statusOf = async (id: string) => (await findTask(gateway.db, projectId, id))?.status;

test("an approval remembered for the task is a policy for exactly this path, input and task", async () => {
  const { id, approval } = await parkTask(gateway.db, projectId);
  await approver.data(DECIDE, decide(approval, { remember: "TASK" }));
  expect(await policies()).toEqual([
    { pattern: MAIL, mode: "AUTO", scope: "TASK", scope_id: id, input_hash: bytes(approval), created_by: "alice" },
  ]);
});

test("the traces of a remembered decision have ids in the order of time, as all ids: pages of them follow it", async () => {
  const { approval } = await parkTask(gateway.db, projectId);
  await approver.data(DECIDE, decide(approval, { remember: "TASK" }));
  const query = gateway.db.selectFrom("audit_log").select(["id", "action"]).where("project_id", "=", projectId);
  const traces = await query.where("action", "in", ["approval.decided", "tool_policy.remembered"]).execute();
  expect(traces.map(({ action }) => action).sort()).toEqual(["approval.decided", "tool_policy.remembered"]);
  expect(traces.map(({ id }) => id[14])).toEqual(["7", "7"]);
});

test("a denial remembered for the session, whatever the input, denies the tool there", async () => {
  const { approval } = await parkTask(gateway.db, projectId, { task: { session: "s" } });
  await approver.data(DECIDE, decide(approval, { decision: "DENY", remember: "SESSION", rememberAnyInput: true }));
  expect(await policies()).toMatchObject([{ mode: "DENY", scope: "SESSION", scope_id: "s", input_hash: null }]);
});

test("a task in no session has none to remember for", async () => {
  const { id, approval } = await parkTask(gateway.db, projectId);
  const failure = await approver.failure(DECIDE, decide(approval, { remember: "SESSION" }));
  expect(failure).toMatchObject({ code: "BAD_INPUT", message: expect.stringContaining("session") });
  expect([await policies(), await statusOf(id)]).toEqual([[], "PARKED"]);
});

test("remembering for the whole project needs an admin, and nothing is decided without one", async () => {
  const { id, approval } = await parkTask(gateway.db, projectId);
  const failure = await approver.failure(DECIDE, decide(approval, { remember: "PROJECT" }));
  expect(failure).toMatchObject({ code: "FORBIDDEN", message: expect.stringContaining('"admin"') });
  expect([await policies(), await statusOf(id)]).toEqual([[], "PARKED"]);
  await admin.data(DECIDE, decide(approval, { remember: "PROJECT" }));
  expect(await policies()).toMatchObject([{ scope: "PROJECT", scope_id: null, input_hash: bytes(approval) }]);
});

const rules = async () => (await policies()).map(({ mode, scope, created_by }) => [mode, scope, created_by]);
const everywhere = { remember: "PROJECT", rememberAnyInput: true };

describe("remembering a tool for the whole project, whatever the input", () => {
  const setRule = (mode: string) => admin.data(SET_POLICY, { pattern: MAIL, mode });

  test("replaces the rule that held the call: in a tie it would win, and ask again", async () => {
    await setRule("REQUIRED");
    const [first, second] = await parkTasks(gateway.db, projectId, 2);
    await admin.data(DECIDE, decide(first?.approval as AskedFor, everywhere));
    expect(await rules()).toEqual([["AUTO", "PROJECT", "k"]]);
    expect(await statusOf(second?.id ?? "")).toBe("QUEUED");
  });

  test("many at once replace it too, with one rule", async () => {
    await setRule("REQUIRED");
    const tasks = await parkTasks(gateway.db, projectId, 3);
    const inputs = tasks.slice(1).map(({ approval }) => decide(approval, everywhere).input);
    await admin.data(DECIDE_MANY, { inputs });
    expect(await rules()).toEqual([["AUTO", "PROJECT", "k"]]);
    expect(await statusOf(tasks[0]?.id ?? "")).toBe("QUEUED");
  });

  test("leaves rules for one task, session or input, and for other patterns", async () => {
    await setRule("REQUIRED");
    await admin.data(SET_POLICY, { pattern: "mail.*", mode: "REQUIRED" });
    const [first, second] = await parkTasks(gateway.db, projectId, 2, { task: { session: "s" } });
    await admin.data(DECIDE, decide(first?.approval as AskedFor, { decision: "DENY", remember: "TASK" }));
    await admin.data(DECIDE, decide(second?.approval as AskedFor, everywhere));
    const found = (await rules()).map(([mode, scope]) => `${mode} ${scope}`);
    expect(found.sort()).toEqual(["AUTO PROJECT", "DENY TASK", "REQUIRED PROJECT"]);
  });

  test.each([
    ["is denied", "DENY", "API", "denies"],
    ["is set by the configuration file", "REQUIRED", "CONFIG", "airlock.config.ts"],
  ] as const)("is refused where it %s, and nothing is decided", async (_, mode, source, said) => {
    const [one, two] = await parkTasks(gateway.db, projectId, 2);
    const rule = { projectId, pattern: MAIL, mode, scope: "PROJECT", scopeId: null, inputHash: null } as const;
    await insertPolicy(gateway.db, { ...rule, expiresAt: null, approvalMs: null, createdBy: "operator", source });
    const conflict = { code: "CONFLICT", message: expect.stringContaining(said) };
    expect(await admin.failure(DECIDE, decide(one?.approval as AskedFor, everywhere))).toMatchObject(conflict);
    const inputs = [decide(one?.approval as AskedFor, everywhere).input, decide(two?.approval as AskedFor, {}).input];
    const { decideApprovals } = await admin.data<{ decideApprovals: object[] }>(DECIDE_MANY, { inputs });
    expect(decideApprovals).toMatchObject([{ errorCode: "CONFLICT", approval: null }, { errorCode: null }]);
    expect(await rules()).toEqual([[mode, "PROJECT", "operator"]]);
    expect([await statusOf(one?.id ?? ""), await statusOf(two?.id ?? "")]).toEqual(["PARKED", "QUEUED"]);
  });
});

test("an edited input is remembered only as any input", async () => {
  const { approval } = await parkTask(gateway.db, projectId);
  const more = { editedInput: { to: "x" }, remember: "TASK", rememberAnyInput: true };
  await approver.data(DECIDE, decide(approval, more));
  expect(await policies()).toMatchObject([{ mode: "AUTO", input_hash: null }]);
});

test("a decision that came too late leaves no policy behind", async () => {
  const { approval } = await parkTask(gateway.db, projectId);
  await approver.data(DECIDE, decide(approval, { decision: "DENY" }));
  expect((await approver.failure(DECIDE, decide(approval, { remember: "TASK" }))).code).toBe("CONFLICT");
  expect(await policies()).toEqual([]);
});

test("only tool calls are remembered", async () => {
  const { approval } = await parkTask(gateway.db, projectId, { asks: [{ kind: "BUDGET" }] });
  expect((await approver.failure(DECIDE, decide(approval, { remember: "TASK" }))).code).toBe("BAD_INPUT");
});

test("calls that wait already are judged anew by what was remembered; others keep waiting", async () => {
  const inSession = await parkTasks(gateway.db, projectId, 3, { task: { session: "s" } });
  const otherInput = await parkTask(gateway.db, projectId, { task: { session: "s" }, asks: [{ input: { to: "z" } }] });
  const elsewhere = await parkTask(gateway.db, projectId, { task: { session: "t" } });
  await approver.data(DECIDE, decide(inSession[0]?.approval as AskedFor, { remember: "SESSION" }));
  for (const { id } of inSession) expect(await statusOf(id)).toBe("QUEUED");
  expect(await statusOf(otherInput.id)).toBe("PARKED");
  expect(await statusOf(elsewhere.id)).toBe("PARKED");
});

test("a thousand decisions that remember the same store and audit one policy", async () => {
  const tasks = await parkTasks(gateway.db, projectId, 1_000, { task: { session: "s" } });
  const inputs = tasks.map(({ approval }) => decide(approval, { remember: "SESSION" }).input);
  const { decideApprovals } = await approver.data<{ decideApprovals: { errorCode: string | null }[] }>(DECIDE_MANY, {
    inputs,
  });
  expect(decideApprovals.filter(({ errorCode }) => errorCode !== null)).toEqual([]);
  expect(await policies()).toHaveLength(1);
  const audits = await gateway.db
    .selectFrom("audit_log")
    .select(["action", (eb) => eb.fn.countAll<number>().as("n")])
    .where("project_id", "=", projectId)
    .where("action", "in", ["approval.decided", "tool_policy.remembered"])
    .groupBy("action")
    .orderBy("action")
    .execute();
  expect(audits).toEqual([
    { action: "approval.decided", n: 1_000 },
    { action: "tool_policy.remembered", n: 1 },
  ]);
  const [again] = await parkTasks(gateway.db, projectId, 1, { task: { session: "s" } });
  await approver.data(DECIDE, decide(again?.approval as AskedFor, { remember: "SESSION" }));
  expect(await policies()).toHaveLength(1);
});
