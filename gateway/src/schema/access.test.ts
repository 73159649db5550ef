import { randomUUID } from "node:crypto";
import { newId } from "@airlock/shared/contracts";
import { insertOutput, SCOPES } from "@airlock/shared/db";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer, Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT, SUBMIT_BATCH, type Submitted } from "../../testing/operations.ts";
import { parkTask } from "../../testing/parked-task.ts";
import { schema } from "./index.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

/** One call of every root field, with the scope it needs. A field that is missing here fails the first test below. */
const CALLS: Record<string, { scope: string; query: string }> = {
  "Query.task": { scope: "read", query: '{ task(id: "x") { id } }' },
  "Query.tasks": { scope: "read", query: "{ tasks { pageInfo { hasNextPage } } }" },
  "Query.batch": { scope: "read", query: '{ batch(id: "x") { id } }' },
  "Query.approvals": { scope: "read", query: "{ approvals { pageInfo { hasNextPage } } }" },
  "Query.tools": { scope: "read", query: "{ tools { path } }" },
  "Query.toolTypes": { scope: "read", query: "{ toolTypes }" },
  "Query.toolPolicies": { scope: "read", query: "{ toolPolicies { id } }" },
  "Query.sessionArtifacts": { scope: "read", query: '{ sessionArtifacts(session: "s") { id } }' },
  "Query.workers": { scope: "read", query: "{ workers { id } }" },
  "Query.queueStats": { scope: "read", query: "{ queueStats { runnable } }" },
  "Mutation.submitTask": { scope: "submit", query: 'mutation { submitTask(input: {code: "1"}) { id } }' },
  "Mutation.submitBatch": { scope: "submit", query: 'mutation { submitBatch(input: {tasks: [{code: "1"}]}) { id } }' },
  "Mutation.cancelTask": { scope: "submit", query: 'mutation { cancelTask(id: "x") { id } }' },
  "Mutation.cancelBatch": { scope: "submit", query: 'mutation { cancelBatch(id: "x") { id } }' },
  "Mutation.retryTask": { scope: "submit", query: 'mutation { retryTask(id: "x") { id } }' },
  "Mutation.callTool": { scope: "submit", query: 'mutation { callTool(path: "x", input: {}) { id } }' },
  "Mutation.forkTask": { scope: "submit", query: 'mutation { forkTask(id: "x") { id } }' },
  "Mutation.decideApproval": {
    scope: "approve",
    query: 'mutation { decideApproval(input: {id: "x", decision: DENY, inputHash: ""}) { id } }',
  },
  "Mutation.decideApprovals": { scope: "approve", query: "mutation { decideApprovals(inputs: []) { id } }" },
  "Mutation.answerQuestion": {
    scope: "approve",
    query: 'mutation { answerQuestion(approvalId: "x", answer: 1) { id } }',
  },
  "Mutation.setToolPolicy": {
    scope: "admin",
    query: 'mutation { setToolPolicy(pattern: "x", mode: REQUIRED) { id } }',
  },
  "Mutation.removeToolPolicy": { scope: "admin", query: 'mutation { removeToolPolicy(id: "x") }' },
  "Mutation.createProject": { scope: "admin", query: 'mutation { createProject(name: "p") { id } }' },
  "Mutation.createApiKey": { scope: "admin", query: 'mutation { createApiKey(name: "k", scopes: ["read"]) { id } }' },
  "Mutation.setRetention": { scope: "admin", query: "mutation { setRetention(days: 30) { retentionDays } }" },
  "Query.functions": { scope: "read", query: "{ functions { path } }" },
  "Mutation.setFunction": {
    scope: "admin",
    query: 'mutation { setFunction(input: {path: "x", description: "x", inputSchema: {}, code: "x"}) { path } }',
  },
  "Mutation.removeFunction": { scope: "admin", query: 'mutation { removeFunction(path: "x") }' },
  "Query.environments": { scope: "read", query: "{ environments { name } }" },
  "Query.environment": { scope: "read", query: '{ environment(name: "x") { name } }' },
  "Query.providers": { scope: "read", query: "{ providers { name } }" },
  "Query.leases": { scope: "read", query: "{ leases { id } }" },
  "Mutation.createEnvironment": {
    scope: "admin",
    query: 'mutation { createEnvironment(input: {name: "x", provider: "x"}) { name } }',
  },
  "Mutation.updateEnvironment": {
    scope: "admin",
    query: 'mutation { updateEnvironment(name: "x", input: {active: true}) { name } }',
  },
  "Mutation.deactivateEnvironment": {
    scope: "admin",
    query: 'mutation { deactivateEnvironment(name: "x") { name } }',
  },
  "Mutation.probeEnvironment": {
    scope: "admin",
    query: 'mutation { probeEnvironment(name: "x") { available } }',
  },
  "Mutation.setDefaultEnvironment": {
    scope: "admin",
    query: 'mutation { setDefaultEnvironment(name: "isolate") { id } }',
  },
  "Mutation.setSessionEnvironment": {
    scope: "admin",
    query: 'mutation { setSessionEnvironment(session: "s", name: "isolate") { name } }',
  },
  "Mutation.releaseLease": { scope: "admin", query: 'mutation { releaseLease(id: "x") { id } }' },
  "Subscription.taskEvents": { scope: "read", query: 'subscription { taskEvents(taskId: "x") { seq } }' },
  "Subscription.approvalUpdates": { scope: "read", query: "subscription { approvalUpdates { id } }" },
  "Subscription.batchProgress": { scope: "read", query: 'subscription { batchProgress(batchId: "x") { id } }' },
  "Subscription.taskUpdates": {
    scope: "read",
    query: 'subscription { taskUpdates(filter: {batch: "x"}) { id } }',
  },
  "Subscription.fleet": { scope: "read", query: "subscription { fleet { queueStats { runnable } } }" },
  "Mutation.revokeApiKey": { scope: "admin", query: 'mutation { revokeApiKey(id: "x") { id } }' },
};

test("every root field declares a scope, and the one that this test expects", () => {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].filter(
    (type) => type !== undefined && type !== null,
  );
  const declared = roots.flatMap((type) =>
    Object.values(type.getFields()).map((field) => [`${type.name}.${field.name}`, field.extensions["scope"]] as const),
  );
  expect(Object.fromEntries(declared)).toEqual(
    Object.fromEntries(Object.entries(CALLS).map(([name, call]) => [name, call.scope])),
  );
});

/** Of a subscription's first answer. */
async function firstErrors(client: Client, query: string): Promise<Answer<unknown>["errors"]> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const response = await client.raw({ method: "POST", headers, body: JSON.stringify({ query }) });
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const data = /^data: (.+)$/m.exec(text)?.[1];
    if (data !== undefined) return (JSON.parse(data) as Answer<unknown>).errors;
  }
  return undefined;
}

test.each(SCOPES)("a key with only the scope %s may do what the scope says and nothing else", async (scope) => {
  const { client, projectId } = await gateway.tenant(`only ${scope}`, [scope]);
  // So that approvalUpdates has something to say at once.
  await parkTask(gateway.db, projectId);
  for (const [name, call] of Object.entries(CALLS)) {
    const errors = name.startsWith("Subscription.")
      ? await firstErrors(client, call.query)
      : (await client.send(call.query)).errors;
    const refusal = errors?.find((error) => error.extensions.code === "FORBIDDEN");
    if (name === "Mutation.createProject") expect(refusal, name).toBeDefined();
    else if (scope === "admin" || scope === call.scope) expect(refusal, name).toBeUndefined();
    else expect(refusal?.message, name).toContain(`"${call.scope}"`);
  }
});

test("making projects needs an admin key of the default project", async () => {
  const { client } = await gateway.tenant("ambitious");
  const failure = await client.failure('mutation { createProject(name: "mine") { id } }');
  expect(failure).toMatchObject({ code: "FORBIDDEN" });
});

describe("another project's things answer exactly like unknown ones", () => {
  let stranger: Client;
  let ids: { task: string; batch: string; key: string; project: string };
  beforeAll(async () => {
    const owner = await gateway.tenant("owner");
    const { submitTask } = await owner.client.data<Submitted>(SUBMIT, {
      input: { code: "return 1", session: "s", labels: { a: 1 } },
    });
    const { submitBatch } = await owner.client.data<{ submitBatch: { id: string } }>(SUBMIT_BATCH, {
      input: { tasks: [{ code: "1" }] },
    });
    const file = {
      projectId: owner.projectId,
      taskId: submitTask.id,
      session: "s",
      name: "f",
      contentType: "text/plain",
    };
    await insertOutput(gateway.db, { ...file, bytes: Buffer.from("x") });
    ids = { task: submitTask.id, batch: submitBatch.id, key: owner.keyId, project: owner.projectId };
    stranger = (await gateway.tenant("stranger")).client;
  });

  const QUERIES: [keyof typeof ids, string][] = [
    ["task", "query ($id: ID!) { task(id: $id) { id events { seq } } }"],
    ["batch", "query ($id: ID!) { batch(id: $id) { id counts { queued } } }"],
    ["batch", "query ($id: ID!) { tasks(filter: {batch: $id}) { edges { node { id } } pageInfo { hasNextPage } } }"],
    ["task", "mutation ($id: ID!) { cancelTask(id: $id) { id } }"],
    ["batch", "mutation ($id: ID!) { cancelBatch(id: $id) { id } }"],
    ["task", "mutation ($id: ID!) { retryTask(id: $id) { id } }"],
    ["task", "subscription ($id: ID!) { taskEvents(taskId: $id) { seq } }"],
    ["batch", "subscription ($id: ID!) { batchProgress(batchId: $id) { id } }"],
    ["key", "mutation ($id: ID!) { revokeApiKey(id: $id) { id } }"],
    ["project", 'mutation ($id: ID!) { createApiKey(projectId: $id, name: "k", scopes: ["read"]) { id } }'],
  ];
  test.each(QUERIES)("%s: %s", async (noun, query) => {
    const ask = async (id: string): Promise<string> => {
      const body = JSON.stringify({ query, variables: { id } });
      const response = await stranger.raw({ method: "POST", headers: { "content-type": "application/json" }, body });
      return `${response.status} ${await response.text()}`;
    };
    const foreign = await ask(ids[noun]);
    for (const unknown of [newId(), randomUUID(), "not-an-id", "", "\0", "1".repeat(5_000)])
      expect(await ask(unknown)).toBe(foreign);
    expect(foreign).not.toContain("INTERNAL");
  });

  test("and nothing happened to them", async () => {
    const { rows } = await sql<{ status: string; revoked: boolean }>`
      select t.status, k.revoked_at is not null as revoked from tasks t, api_keys k where t.id = ${ids.task} and k.id = ${ids.key}
    `.execute(gateway.db);
    expect(rows).toEqual([{ status: "QUEUED", revoked: false }]);
  });

  test("lists, searches and statistics show only one's own", async () => {
    const answer = await stranger.data(
      '{ all: tasks { edges { node { id } } } files: sessionArtifacts(session: "s") { name } found: tasks(filter: {search: "return", session: "s", label: {a: 1}}) { edges { node { id } } } queueStats { runnable } }',
    );
    expect(answer).toEqual({ all: { edges: [] }, files: [], found: { edges: [] }, queueStats: { runnable: 0 } });
  });
});
