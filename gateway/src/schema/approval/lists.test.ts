import { createTestDatabase, openTestDatabase } from "@airlock/shared/testing";
import { type Database, writeSegments } from "@airlock/shared/db";
import { graphql } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RequestContext } from "../../context.ts";
import { createLoaders } from "../../loaders.ts";
import { schema } from "../index.ts";
import type { Client } from "../../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../../testing/gateway.ts";
import { DECIDE, SUBMIT, type Submitted } from "../../../testing/operations.ts";
import { MAIL, type ParkedTask, parkTask, parkTasks } from "../../../testing/parked-task.ts";

let gateway: TestGateway;
let projectId: string;
let admin: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  const tenant = await gateway.tenant("lists");
  [projectId, admin] = [tenant.projectId, tenant.client];
});
afterAll(() => gateway.stop());

interface Approvals {
  readonly approvals: {
    readonly edges: { readonly cursor: string; readonly node: { readonly id: string } }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}
const LIST = `query ($status: ApprovalStatus, $first: Int, $after: String) { approvals(status: $status, first: $first, after: $after) {
  edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
const idsOf = ({ approvals }: Approvals) => approvals.edges.map(({ node }) => node.id);

test("pages of approvals are stable while others are asked for: nothing twice, nothing left out", async () => {
  const { client, projectId: own } = await gateway.tenant("paged");
  const ids = (await parkTasks(gateway.db, own, 25)).map(({ approval }) => approval.id).sort();
  const seen: string[] = [];
  let after: string | null = null;
  for (let page = 0; page < 5; page += 1) {
    const answer: Approvals = await client.data<Approvals>(LIST, { status: "PENDING", first: 6, after });
    seen.push(...idsOf(answer));
    expect(answer.approvals.pageInfo).toMatchObject({ hasNextPage: page < 4, hasPreviousPage: page > 0 });
    after = answer.approvals.pageInfo.endCursor;
    await parkTask(gateway.db, own);
  }
  expect(seen).toEqual(ids.toReversed());
});

test("approvals are listed by status, and only one's own", async () => {
  const { client, projectId: own } = await gateway.tenant("by status");
  const [first, second] = (await parkTasks(gateway.db, own, 2)) as [ParkedTask, ParkedTask];
  await client.data(DECIDE, { input: { ...first.approval, decision: "DENY" } });
  expect(idsOf(await client.data<Approvals>(LIST, { status: "DENIED" }))).toEqual([first.approval.id]);
  expect(idsOf(await client.data<Approvals>(LIST, { status: "PENDING" }))).toEqual([second.approval.id]);
  expect(idsOf(await client.data<Approvals>(LIST, { status: "EXPIRED" }))).toEqual([]);
  expect(idsOf(await client.data<Approvals>(LIST))).toHaveLength(2);
  const stranger = (await gateway.tenant("blind")).client;
  expect(idsOf(await stranger.data<Approvals>(LIST))).toEqual([]);
});

test("a cursor of the tasks is none of the approvals", async () => {
  await admin.data<Submitted>(SUBMIT, { input: { code: "1" } });
  const query = "{ tasks { pageInfo { endCursor } } }";
  const { tasks } = await admin.data<{ tasks: { pageInfo: { endCursor: string } } }>(query);
  expect((await admin.failure(LIST, { after: tasks.pageInfo.endCursor })).code).toBe("BAD_INPUT");
  for (const after of ["", "x", "\0", Buffer.from("approval:1").toString("base64url")])
    expect((await admin.failure(LIST, { after })).code).toBe("BAD_INPUT");
  for (const first of [-1, 101]) expect((await admin.failure(LIST, { first })).code).toBe("BAD_INPUT");
});

test("a task's calls and approvals, from the first to the last", async () => {
  const asks = [{}, { kind: "BUDGET" }, { kind: "QUESTION", path: "human.ask", input: { question: "?" } }] as const;
  const task = await parkTask(gateway.db, projectId, { asks });
  const query = `query ($id: ID!, $first: Int, $after: Int) { task(id: $id) {
    toolCalls(first: $first, after: $after) { index path input status output error { code } approval { id kind } inputHash }
    approvals(status: PENDING) { id kind toolCall { index } task { id } }
    none: approvals(status: DENIED) { id } } }`;
  const { task: seen } = await admin.data<{ task: { toolCalls: unknown[] } }>(query, { id: task.id });
  const [mail, budget, question] = task.approvals;
  expect(seen.toolCalls[0]).toEqual({
    index: 0,
    path: MAIL,
    input: { to: "a@b" },
    status: "WAITING",
    output: null,
    error: null,
    approval: { id: mail?.id, kind: "TOOL_CALL" },
    inputHash: mail?.inputHash,
  });
  expect(seen).toMatchObject({
    approvals: [
      { id: mail?.id, kind: "TOOL_CALL", toolCall: { index: 0 }, task: { id: task.id } },
      { id: budget?.id, kind: "BUDGET", toolCall: null },
      { id: question?.id, kind: "QUESTION", toolCall: { index: 2 } },
    ],
    none: [],
  });
  const indexes = async (variables: object) => {
    const answer = await admin.data<{ task: { toolCalls: { index: number }[] } }>(query, { id: task.id, ...variables });
    return answer.task.toolCalls.map(({ index }) => index);
  };
  expect(await indexes({})).toEqual([0, 1, 2]);
  expect(await indexes({ first: 1 })).toEqual([0]);
  expect(await indexes({ after: 0 })).toEqual([1, 2]);
  expect(await indexes({ after: 0, first: 1 })).toEqual([1]);
  expect(await indexes({ after: 2 })).toEqual([]);
});

test("a failed call shows its error, and input that was no JSON as it came", async () => {
  const task = await parkTask(gateway.db, projectId, { running: true, asks: [] });
  const nothing = { events: [], outputChars: 0, updates: [], approvals: [], activeMs: 0, end: null, parking: null };
  const call = {
    path: "no.tool",
    input: null,
    inputHash: Buffer.alloc(32),
    version: "",
    approvalId: null,
    wakeAt: null,
  };
  const failed = { status: "FAILED", errorCode: "BAD_TOOL_INPUT", errorMessage: "no", completion: 1 } as const;
  const times = { output: null, startedAt: null, finishedAt: new Date(0) };
  const calls = [{ index: 0, sent: "{not json", ...call, ...failed, ...times }];
  await writeSegments(gateway.db, [{ ...nothing, taskId: task.id, fence: 1, calls }]);
  const query =
    "query ($id: ID!) { task(id: $id) { toolCalls { input error { code message retryable } finishedAt } } }";
  expect(await admin.data(query, { id: task.id })).toEqual({
    task: {
      toolCalls: [
        {
          input: "{not json",
          error: { code: "BAD_TOOL_INPUT", message: "no", retryable: false },
          finishedAt: "1970-01-01T00:00:00.000Z",
        },
      ],
    },
  });
});

/** Counts what is asked of the database. */
function counting(db: Database): { db: Database; asked: () => number } {
  let asked = 0;
  const counted = db.withPlugin({
    transformQuery: ({ node }) => {
      asked += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  return { db: counted, asked: () => asked };
}

test("a page of approvals with all that they refer to asks once for each kind of thing, however long it is", async () => {
  const database = await createTestDatabase();
  const { db, projectId: own } = await openTestDatabase(database.url);
  const source = `query ($first: Int) { approvals(first: $first) { edges { node { toolCall { path approval { id } }
    task { id artifacts { id } approvals { id } toolCalls { index approval { task { id } } } } } } } }`;
  const ask = async (first: number): Promise<number> => {
    const { db: counted, asked } = counting(db);
    const caller = { keyId: "", keyName: "", projectId: own, scopes: ["read"], bootstrap: false };
    const app = { db: counted } as RequestContext["app"];
    const contextValue: RequestContext = { app, caller, loaders: createLoaders(counted, own), lastEventId: null };
    const answer = await graphql({ schema, source, variableValues: { first }, contextValue });
    expect(answer.errors).toBeUndefined();
    return asked();
  };
  await parkTasks(db, own, 60, { asks: [{}, {}] });
  expect(await ask(100)).toBe(await ask(2));
  await db.destroy();
  await database.drop();
});
