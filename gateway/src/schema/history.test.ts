import { smallestIdAt } from "@airlock/shared/contracts";
import { indexTasks, insertTasks } from "@airlock/shared/db";
import { newTask } from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT, type Submitted } from "../../testing/operations.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

type Filter = Record<string, unknown>;

interface Tasks {
  readonly tasks: {
    readonly edges: { readonly node: { readonly id: string } }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}
const LIST = `query ($filter: TaskFilter, $first: Int, $after: String) { tasks(filter: $filter, first: $first, after: $after) {
  edges { node { id } } pageInfo { hasNextPage endCursor } } }`;

async function pagesOf(client: Client, filter: Filter, first: number): Promise<string[][]> {
  const pages: string[][] = [];
  for (let after: string | null = null; ;) {
    const { tasks }: Tasks = await client.data<Tasks>(LIST, { filter, first, after });
    pages.push(tasks.edges.map(({ node }) => node.id));
    if (!tasks.pageInfo.hasNextPage) return pages;
    after = tasks.pageInfo.endCursor;
  }
}

async function find(client: Client, search: string): Promise<string[]> {
  return (await pagesOf(client, { search }, 100)).flat();
}

async function submit(client: Client, input: Record<string, unknown>): Promise<string> {
  return (await client.data<Submitted>(SUBMIT, { input: { code: "return 1", ...input } })).submitTask.id;
}

describe("a search", () => {
  test("finds words of code, labels and the error message, whatever their case and what stands around them", async () => {
    const { client } = await gateway.tenant("words");
    const code = await submit(client, { code: "await tools.trackers.createIssue({title:'Überlauf'})" });
    const label = await submit(client, { labels: { "cost-centre": "north/Kiel", n: 4711 } });
    const gone = await submit(client, { code: "await tools.mail.send({})" });
    await client.data("mutation ($id: ID!) { cancelTask(id: $id) { id } }", { id: gone });
    const other = await gateway.tenant("stranger to the words");
    await submit(other.client, { code: "await tools.trackers.createIssue()" });
    for (const word of ["createIssue", "CREATEISSUE", "issue", "tools.trackers", "überlauf", "track"]) {
      expect(await find(client, word), word).toEqual([code]);
    }
    for (const word of ["kiel", "cost-centre", "centre north", "4711"])
      expect(await find(client, word)).toEqual([label]);
    expect(await find(client, "cancelled mail")).toEqual([gone]);
    expect(await find(client, "tools await")).toEqual([gone, code]);
    for (const word of ["rackers", "tools kiel", "%", "_", "&!|", "':*", "project", "label:"]) {
      expect(await find(client, word), word).toEqual([]);
    }
  });

  test("takes code that has no words, endless words and a megabyte of them", async () => {
    const { client } = await gateway.tenant("odd code");
    const odd = [";".repeat(1_000), `"${"a".repeat(500_000)}"`, Array.from({ length: 150_000 }, (_, i) => i).join(" ")];
    for (const code of odd) await submit(client, { code });
    const last = await submit(client, { code: "return 'findable'" });
    expect(await find(client, "findable")).toEqual([last]);
    expect((await client.failure(LIST, { filter: { search: "x".repeat(1_001) } })).code).toBe("BAD_INPUT");
  });
});

const STATUSES = ["SUCCEEDED", "FAILED", "PARKED", "QUEUED"] as const;
const COUNT = 6_500;

/** One a minute, the newest first: attributes that go together, exclude each other, and lie on one side of the table. */
const HISTORY = Array.from({ length: COUNT }, (_, n) => ({
  status: n % 50 === 7 ? STATUSES[1] : n % 1_000 === 8 ? STATUSES[2] : n % 900 === 9 ? STATUSES[3] : STATUSES[0],
  environment: n > 6_000 ? "remote" : "isolate",
  session: n % 3 === 0 ? "thirds" : n % 50 === 7 ? "failures" : null,
  labels: [["half", n % 2 === 0 ? '"even"' : '"odd"'] as const, ["n", `${n}`] as const],
  words: ["all", ...(n > 1_000 ? ["old"] : []), ...(n % 2 === 1 ? ["odd"] : []), `word${n}`],
}));

describe("a history of thousands", () => {
  let client: Client;
  let ids: string[];

  beforeAll(async () => {
    const tenant = await gateway.tenant("thousands");
    client = tenant.client;
    const now = Date.now();
    ids = HISTORY.map(
      (_, n) => `${smallestIdAt(new Date(now - n * 60_000)).slice(0, -12)}${n.toString().padStart(12, "0")}`,
    );
    const tasks = HISTORY.map(({ environment, session, labels, words }, n) =>
      newTask(tenant.projectId, { id: ids[n] as string, environment, session, labels, code: words.join("(") }),
    );
    await gateway.db.transaction().execute((tx) => insertTasks(tx, tasks, 0));
    await sql`
      update tasks t set status = s.status, created_at = s.at from unnest(
        ${ids}::uuid[], ${HISTORY.map(({ status }) => status)}::text[],
        ${ids.map((_, n) => new Date(now - n * 60_000))}::timestamptz[]
      ) as s (id, status, at) where t.id = s.id
    `.execute(gateway.db);
    await sql`delete from outbox o using tasks t where t.id = o.task_id and t.status <> 'QUEUED'`.execute(gateway.db);
    while ((await indexTasks(gateway.db, 1_000)) > 0);
    await sql`analyze`.execute(gateway.db);
  });

  const idsWhere = (matches: (task: (typeof HISTORY)[number], n: number) => boolean): string[] =>
    ids.filter((_, n) => matches(HISTORY[n] as (typeof HISTORY)[number], n));

  test.each<[string, Filter, (task: (typeof HISTORY)[number], n: number) => boolean]>([
    ["rare states", { status: ["PARKED", "QUEUED"] }, ({ status }) => status === "PARKED" || status === "QUEUED"],
    ["a rare word", { search: "word5123" }, (_, n) => n === 5_123],
    ["a word of the older ones", { search: "old", label: { half: "even" } }, (_, n) => n > 1_000 && n % 2 === 0],
    ["a rare state, a label of half", { status: ["PARKED"], label: { half: "odd" } }, () => false],
    ["labels that exclude each other", { label: { half: "odd", n: 4_000 } }, () => false],
    ["a word and a label that exclude each other", { search: "odd", label: { half: "even" } }, () => false],
    ["an environment of the oldest", { environment: "remote" }, (_, n) => n > 6_000],
    [
      "a word, an environment of the oldest",
      { environment: "remote", search: "odd" },
      (_, n) => n > 6_000 && n % 2 === 1,
    ],
    ["a session, a state", { session: "thirds", status: ["FAILED"] }, (_, n) => n % 3 === 0 && n % 50 === 7],
    ["a session and a state that exclude each other", { session: "failures", status: ["SUCCEEDED"] }, () => false],
  ])("%s: each page in order, each task once", async (_, filter, matches) => {
    const pages = await pagesOf(client, filter, 97);
    expect(pages.flat()).toEqual(idsWhere(matches));
  });

  test("a word that only thousands of older tasks have fills the first page with the newest of them", async () => {
    const [page] = (await client.data<Tasks>(LIST, { filter: { search: "old" }, first: 50 })).tasks.edges;
    expect(page?.node.id).toBe(ids[1_001]);
  });

  test("a time of creation is kept to, on the way to it nothing is read", async () => {
    const { rows } = await sql<{ at: Date }>`select created_at as at from tasks where id = ${ids[3_000]}`.execute(
      gateway.db,
    );
    const at = rows[0]?.at.toISOString();
    const older = await client.data<Tasks>(LIST, { filter: { createdBefore: at }, first: 3 });
    expect(older.tasks.edges.map(({ node }) => node.id)).toEqual(ids.slice(3_001, 3_004));
    const newer = await pagesOf(client, { createdAfter: at, search: "odd" }, 100);
    expect(newer.flat()).toEqual(idsWhere((_, n) => n < 3_000 && n % 2 === 1));
  });
});

test("a list that looks at very many tasks ends its page early, and goes on from there to the last", async () => {
  const { client, projectId } = await gateway.tenant("far");
  const [wanted] = [await submit(client, { session: "long" })];
  await sql`
    insert into tasks (id, project_id, status, language, environment, provider, code, session, priority, seed)
    select ('ffffffff-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, ${projectId},
      case when n <= 600 then 'SUCCEEDED' else 'FAILED' end, 'TYPESCRIPT', 'isolate', 'isolate', '',
      case when n > 600 then 'long' end, 0, ''
    from generate_series(1, 20_700) n
  `.execute(gateway.db);
  await sql`update tasks set status = 'SUCCEEDED' where id = ${wanted}`.execute(gateway.db);
  expect(await pagesOf(client, { session: "long", status: ["SUCCEEDED"] }, 20)).toEqual([[], [wanted]]);
});
