import { newId } from "@airlock/shared/contracts";
import { countBatches, findTask, insertBatch } from "@airlock/shared/db";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Client } from "../../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../../testing/gateway.ts";
import { DECIDE, DECIDE_MANY } from "../../../testing/operations.ts";
import { type AskedFor, MAIL, parkTask, parkTasks, publishTestTools } from "../../../testing/parked-task.ts";

let gateway: TestGateway;
let projectId: string;
let approver: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  await publishTestTools(gateway.db);
});
afterAll(() => gateway.stop());
beforeEach(async () => {
  projectId = (await gateway.tenant("many")).projectId;
  approver = (await gateway.key(projectId, "alice", ["approve"])).client;
});

interface Results {
  readonly decideApprovals: {
    readonly id: string;
    readonly errorCode: string | null;
    readonly message: string | null;
    readonly approval: { readonly id: string; readonly status: string } | null;
  }[];
}
const decideMany = async (variables: object) => (await approver.data<Results>(DECIDE_MANY, variables)).decideApprovals;
const approve = ({ id, inputHash }: AskedFor, more: object = {}) => ({ id, inputHash, decision: "APPROVE", ...more });
const statusOf = async (id: string) => (await findTask(gateway.db, projectId, id))?.status;

test("each item is judged by itself, and the answers keep the order of the inputs", async () => {
  const stranger = await gateway.tenant("someone else");
  const own = await gateway.db
    .selectFrom("api_keys")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("name", "=", "alice")
    .executeTakeFirstOrThrow();
  const [good, denied, wrongHash, edited] = await parkTasks(gateway.db, projectId, 4);
  const mine = await parkTask(gateway.db, projectId, { task: { submittedBy: own.id } });
  const question = await parkTask(gateway.db, projectId, { asks: [{ kind: "QUESTION" }] });
  const late = await parkTask(gateway.db, projectId, { asks: [{ expiresInMs: -1 }] });
  const foreign = await parkTask(gateway.db, stranger.projectId);
  await approver.data(DECIDE, { input: approve(denied?.approval as AskedFor, { decision: "DENY" }) });
  const unknown = newId();
  const results = await decideMany({
    inputs: [
      approve(late.approval),
      approve(good?.approval as AskedFor),
      approve(denied?.approval as AskedFor),
      approve(wrongHash?.approval as AskedFor, { inputHash: good?.approval.inputHash.replace(/^./, "x") }),
      approve(edited?.approval as AskedFor, { editedInput: { to: 7 } }),
      approve(mine.approval),
      approve(question.approval),
      approve(foreign.approval),
      approve({ id: unknown, inputHash: "" }),
      approve({ id: "nonsense", inputHash: "" }),
      approve(good?.approval as AskedFor, { decision: "DENY" }),
    ],
  });
  expect(results.map(({ errorCode, approval }) => errorCode ?? approval?.status)).toEqual([
    "CONFLICT",
    "APPROVED",
    "CONFLICT",
    "CONFLICT",
    "BAD_INPUT",
    "FORBIDDEN",
    "BAD_INPUT",
    "NOT_FOUND",
    "NOT_FOUND",
    "NOT_FOUND",
    "CONFLICT",
  ]);
  expect(results[2]?.message).toContain("DENIED by alice");
  expect(results[10]?.message).toContain("the first");
  expect(results[7]?.message).toBe(results[8]?.message);
  expect(
    results.every(
      ({ approval, errorCode, message }) => (approval === null) === (errorCode !== null && message !== null),
    ),
  ).toBe(true);
  expect(await statusOf(good?.id ?? "")).toBe("QUEUED");
  expect(await statusOf(wrongHash?.id ?? "")).toBe("PARKED");
});

test("by a filter: the same tool and the same input across a batch, and nothing else", async () => {
  const batchId = newId();
  const batch = { id: batchId, projectId, label: null, total: 5, idempotencyKey: null, fingerprint: null };
  await insertBatch(gateway.db, batch);
  const wanted = await parkTasks(gateway.db, projectId, 3, { task: { batchId } });
  const otherInput = await parkTask(gateway.db, projectId, { task: { batchId }, asks: [{ input: { to: "z" } }] });
  const otherTool = await parkTask(gateway.db, projectId, { task: { batchId }, asks: [{ path: "human.ask" }] });
  const outside = await parkTask(gateway.db, projectId);
  const inputHash = wanted[0]?.approval.inputHash.toUpperCase();
  const results = await decideMany({
    filter: { batch: batchId, toolPath: MAIL, inputHash },
    decision: "APPROVE",
    reason: "all of them",
  });
  expect(results).toEqual(
    wanted.map(({ approval: { id } }) => ({
      id,
      errorCode: null,
      message: null,
      approval: { id, status: "APPROVED", decidedBy: "alice", reason: "all of them" },
    })),
  );
  for (const task of [otherInput, otherTool, outside]) expect(await statusOf(task.id)).toBe("PARKED");
  expect(
    (await decideMany({ filter: { batch: batchId }, decision: "DENY" })).map(({ approval }) => approval?.status),
  ).toEqual(["DENIED", "DENIED"]);
  expect((await countBatches(gateway.db, [batchId])).get(batchId)).toEqual({ QUEUED: 5 });
});

test("a filter leaves questions, other projects and a key's own tasks alone", async () => {
  const own = await gateway.key(projectId, "both", ["submit", "approve"]);
  const mine = await parkTask(gateway.db, projectId, { task: { submittedBy: own.keyId } });
  await parkTask(gateway.db, projectId, { asks: [{ kind: "QUESTION" }, { kind: "BUDGET" }] });
  const { projectId: elsewhere } = await gateway.tenant("not theirs");
  const foreign = await parkTask(gateway.db, elsewhere);
  const { decideApprovals } = await own.client.data<Results>(DECIDE_MANY, { filter: {}, decision: "APPROVE" });
  expect(decideApprovals).toMatchObject([{ id: mine.approval.id, errorCode: "FORBIDDEN", approval: null }]);
  expect((await findTask(gateway.db, elsewhere, foreign.id))?.status).toBe("PARKED");
});

test("a filter that can match nothing answers with nothing", async () => {
  await parkTask(gateway.db, projectId);
  for (const filter of [
    { batch: "x" },
    { batch: "" },
    { toolPath: "" },
    { inputHash: "" },
    { batch: newId() },
    { toolPath: "\0" },
    { inputHash: "zz" },
    { inputHash: "00" },
  ])
    expect(await decideMany({ filter, decision: "APPROVE" })).toEqual([]);
});

test("inputs and filter together, neither, or a filter without a decision are refused", async () => {
  const { approval } = await parkTask(gateway.db, projectId);
  const inputs = [approve(approval)];
  for (const variables of [
    {},
    { inputs, filter: {}, decision: "APPROVE" },
    { filter: {} },
    { decision: "APPROVE" },
    { inputs, decision: "DENY" },
    { inputs, reason: "\0" },
  ])
    expect((await approver.failure(DECIDE_MANY, variables)).code).toBe("BAD_INPUT");
  expect(await decideMany({ inputs: [] })).toEqual([]);
  const tooMany = Array.from({ length: 10_001 }, () => ({ id: "x", inputHash: "", decision: "DENY" }));
  expect((await approver.failure(DECIDE_MANY, { inputs: tooMany })).code).toBe("TOO_LARGE");
});

test("two filters at once over 2,500 approvals decide each once", async () => {
  const tasks = await parkTasks(gateway.db, projectId, 2_500);
  const bob = (await gateway.key(projectId, "bob", ["approve"])).client;
  const variables = { filter: { toolPath: MAIL }, decision: "APPROVE" };
  const both = await Promise.all([decideMany(variables), bob.data<Results>(DECIDE_MANY, variables)]);
  const results = [...both[0], ...both[1].decideApprovals];
  const won = results.filter(({ approval }) => approval !== null);
  expect(new Set(won.map(({ id }) => id))).toEqual(new Set(tasks.map(({ approval }) => approval.id)));
  expect(won).toHaveLength(2_500);
  for (const { approval, errorCode, message } of results) {
    if (approval === null) expect([errorCode, message]).toEqual(["CONFLICT", expect.stringMatching(/by (alice|bob)/)]);
  }
});
