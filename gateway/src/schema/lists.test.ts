import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT, type Submitted } from "../../testing/operations.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

interface Tasks {
  readonly tasks: {
    readonly edges: { readonly cursor: string; readonly node: { readonly id: string } }[];
    readonly pageInfo: {
      readonly hasNextPage: boolean;
      readonly hasPreviousPage: boolean;
      readonly endCursor: string | null;
    };
  };
}
const LIST = `query ($first: Int, $after: String, $filter: TaskFilter) { tasks(first: $first, after: $after, filter: $filter) {
  edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

async function submit(client: Client, input: Record<string, unknown>): Promise<string> {
  return (await client.data<Submitted>(SUBMIT, { input: { code: "return 1", ...input } })).submitTask.id;
}

async function idsOf(client: Client, filter: Record<string, unknown>): Promise<string[]> {
  const { tasks } = await client.data<Tasks>(LIST, { filter });
  return tasks.edges.map(({ node }) => node.id);
}

test("pages are stable while rows are inserted: nothing twice, nothing left out", async () => {
  const { client } = await gateway.tenant("pages");
  const ids: string[] = [];
  for (let i = 0; i < 25; i += 1) ids.push(await submit(client, {}));
  const seen: string[] = [];
  let after: string | null = null;
  for (let page = 0; page < 5; page += 1) {
    const { tasks }: Tasks = await client.data<Tasks>(LIST, { first: 6, after });
    seen.push(...tasks.edges.map(({ node }) => node.id));
    expect(tasks.pageInfo).toMatchObject({ hasNextPage: page < 4, hasPreviousPage: page > 0 });
    after = tasks.pageInfo.endCursor;
    await submit(client, {});
  }
  expect(seen).toEqual(ids.toReversed());
});

test("the page size has a default and bounds", async () => {
  const { client } = await gateway.tenant("sizes");
  await client.data("mutation ($input: SubmitBatchInput!) { submitBatch(input: $input) { id } }", {
    input: { tasks: Array.from({ length: 30 }, () => ({ code: "1" })) },
  });
  expect((await client.data<Tasks>(LIST)).tasks.edges).toHaveLength(20);
  expect((await client.data<Tasks>(LIST, { first: 0 })).tasks.edges).toHaveLength(0);
  for (const first of [-1, 101, 2 ** 31 - 1]) expect((await client.failure(LIST, { first })).code).toBe("BAD_INPUT");
  const events = "query ($first: Int) { tasks(first: 1) { edges { node { events(first: $first) { seq } } } } }";
  expect((await client.failure(events, { first: 1001 })).code).toBe("BAD_INPUT");
});

test.each(["", "x", "dGFzazo", Buffer.from("task:1' or 1=1").toString("base64url"), "\0", "🦊", "a".repeat(10_000)])(
  "%j is not a cursor",
  async (after) => {
    expect(await gateway.admin.failure(LIST, { after })).toMatchObject({ code: "BAD_INPUT" });
    const id = await submit(gateway.admin, {});
    expect((await gateway.admin.failure(LIST, { after: id })).code).toBe("BAD_INPUT");
  },
);

test("filters", async () => {
  const { client } = await gateway.tenant("filters");
  const red = await submit(client, { labels: { colour: "red", n: 1 }, code: "return 'needle_%'" });
  const blue = await submit(client, { labels: { colour: "blue", n: 1 }, session: "s" });
  const later = await submit(client, { labels: { n: "1" }, runAt: "2999-01-01T00:00:00+02:00" });
  await client.data("mutation ($id: ID!) { cancelTask(id: $id) { id } }", { id: blue });
  expect(await idsOf(client, {})).toEqual([later, blue, red]);
  expect(await idsOf(client, { status: ["CANCELLED"] })).toEqual([blue]);
  expect(await idsOf(client, { status: [] })).toEqual([]);
  expect(await idsOf(client, { session: "s" })).toEqual([blue]);
  expect(await idsOf(client, { environment: "isolate" })).toHaveLength(3);
  expect(await idsOf(client, { environment: "moon" })).toEqual([]);
  expect(await idsOf(client, { label: { n: 1 } })).toEqual([blue, red]);
  expect(await idsOf(client, { label: { n: 1, colour: "red" } })).toEqual([red]);
  expect(await idsOf(client, { search: "NEEDLE_%" })).toEqual([red]);
  expect(await idsOf(client, { search: "cancelled before" })).toEqual([blue]);
  expect(await idsOf(client, { search: "" })).toHaveLength(3);
  expect(await idsOf(client, { createdAfter: "2999-01-01T00:00:00Z" })).toEqual([]);
  expect(await idsOf(client, { createdBefore: "2999-01-01T00:00:00Z" })).toHaveLength(3);
  for (const filter of [
    { search: "\0" },
    { session: "\ud800" },
    { label: [1] },
    { label: { a: {} } },
    { createdAfter: "yesterday" },
  ]) {
    expect((await client.failure(LIST, { filter })).code).toBe("BAD_INPUT");
  }
});

test("a page of tasks with everything they refer to", async () => {
  const { client } = await gateway.tenant("wide");
  await client.data("mutation ($input: SubmitBatchInput!) { submitBatch(input: $input) { id } }", {
    input: { label: "b", tasks: Array.from({ length: 100 }, (_, i) => ({ code: "1", labels: { i } })) },
  });
  const { tasks } = await client.data<{ tasks: { edges: { node: unknown }[] } }>(
    "{ tasks(first: 100) { edges { node { labels batch { label total done counts { queued } } retryOf { id } events(first: 5) { seq type } } } } }",
  );
  expect(tasks.edges).toHaveLength(100);
  expect(tasks.edges[0]?.node).toEqual({
    labels: { i: 99 },
    batch: { label: "b", total: 100, done: false, counts: { queued: 100 } },
    retryOf: null,
    events: [{ seq: 1, type: "task.queued" }],
  });
});

test("a delayed task is QUEUED and not counted as runnable", async () => {
  const { client } = await gateway.tenant("delayed");
  await submit(client, { runAt: "2999-01-01T00:00:00Z" });
  const stats = "{ queueStats { runnable running parked oldestWaitingMs } }";
  expect(await client.data(stats)).toEqual({
    queueStats: { runnable: 0, running: 0, parked: 0, oldestWaitingMs: null },
  });
  await submit(client, { runAt: "2001-01-01T00:00:00Z" });
  expect(await client.data(stats)).toMatchObject({ queueStats: { runnable: 1, oldestWaitingMs: expect.any(Number) } });
});
