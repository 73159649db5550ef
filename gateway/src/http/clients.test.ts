import { type Client, createClient as createSseClient } from "graphql-sse";
import { serverAudits } from "graphql-http";
import { createClient as createWsClient } from "graphql-ws";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT } from "../../testing/operations.ts";
import { type RunningTask, runTask } from "../../testing/running-task.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ streamsPerKey: 2 });
});
afterAll(() => gateway.stop());

const FOLLOW = "subscription ($taskId: ID!) { taskEvents(taskId: $taskId) { seq type } }";

interface Followed {
  readonly data?: { readonly taskEvents: { readonly seq: number } } | null;
  readonly errors?: readonly { readonly extensions?: unknown }[];
}

/** Everything that a client is given until it is told that it has all. */
async function everything(answers: AsyncIterable<unknown>, onFirst: () => void = () => undefined): Promise<Followed[]> {
  const got: Followed[] = [];
  for await (const answer of answers) {
    if (got.length === 0) onFirst();
    got.push(answer as Followed);
  }
  return got;
}

describe.each(["graphql-sse", "graphql-ws"])("%s as its makers ship it", (kind) => {
  function connect(key: string): Pick<Client, "iterate" | "dispose"> {
    const url = `${gateway.url}/graphql`;
    const authorization = `Bearer ${key}`;
    if (kind === "graphql-sse") return createSseClient({ url, headers: { authorization }, retryAttempts: 0 });
    return createWsClient({
      url: url.replace("http", "ws"),
      webSocketImpl: WebSocket,
      connectionParams: { authorization },
      retryAttempts: 0,
    }) as unknown as Client;
  }

  async function start(): Promise<{ key: string; keyId: string; task: RunningTask }> {
    const { key, keyId, projectId } = await gateway.tenant(kind);
    return { key, keyId, task: await runTask(gateway.db, null, projectId) };
  }

  test("follows a task to its end", async () => {
    const { key, task } = await start();
    const client = connect(key);
    const answers = client.iterate({ query: FOLLOW, variables: { taskId: task.id } });
    const got = await everything(answers as AsyncIterable<unknown>, () => void task.succeed());
    expect(got.map((answer) => answer.data?.taskEvents.seq)).toEqual([1, 2, 3]);
    client.dispose();
  });

  test("asks and submits", async () => {
    const client = connect(ADMIN_KEY);
    const [submitted] = await everything(
      client.iterate({ query: SUBMIT, variables: { input: { code: "1" } } }) as AsyncIterable<unknown>,
    );
    expect(submitted).toMatchObject({ data: { submitTask: { status: "QUEUED" } } });
    const [wrong] = await everything(
      client.iterate({ query: SUBMIT, variables: { input: { code: "" } } }) as AsyncIterable<unknown>,
    );
    expect(wrong?.errors?.[0]?.extensions).toEqual({ code: "BAD_INPUT", retryable: false });
    client.dispose();
  });

  test("is told by code what it may not do: unknown tasks and too many streams", async () => {
    const { key, task } = await start();
    const client = connect(key);
    const ask = (taskId: string) => client.iterate({ query: FOLLOW, variables: { taskId } }) as AsyncIterable<unknown>;
    const [unknown] = await everything(ask("x"));
    expect(unknown?.errors?.[0]?.extensions).toEqual({ code: "NOT_FOUND", retryable: false });
    const open = [ask(task.id)[Symbol.asyncIterator](), ask(task.id)[Symbol.asyncIterator]()];
    for (const stream of open) await stream.next();
    const [refused] = await everything(ask(task.id));
    expect(refused?.errors?.[0]?.extensions).toMatchObject({ code: "QUOTA_EXCEEDED" });
    client.dispose();
  });

  test("loses its streams with its key, and cannot come back", async () => {
    const { key, keyId, task } = await start();
    const client = connect(key);
    const answers = client.iterate({ query: FOLLOW, variables: { taskId: task.id } }) as AsyncIterable<unknown>;
    const got = await everything(answers, () => {
      void gateway.admin.data("mutation ($id: ID!) { revokeApiKey(id: $id) { id } }", { id: keyId });
    });
    expect(got.at(-1)?.errors?.[0]?.extensions).toEqual({ code: "UNAUTHENTICATED", retryable: false });
    const again = connect(key);
    await expect(
      everything(again.iterate({ query: FOLLOW, variables: { taskId: task.id } }) as AsyncIterable<unknown>),
    ).rejects.toBeDefined();
    again.dispose();
    client.dispose();
  });
});

describe("GraphQL over HTTP, as graphql-http audits it", () => {
  const audits = serverAudits({
    url: () => `${gateway.url}/graphql`,
    fetchFn: (url: string, init?: RequestInit) =>
      fetch(url, { ...init, headers: { ...(init?.headers as object), authorization: `Bearer ${ADMIN_KEY}` } }),
  });
  test.each(audits.map((audit) => [audit.name, audit] as const))("%s", async (_, audit) => {
    const result = await audit.fn();
    expect(result.status === "ok" ? "ok" : `${result.status}: ${result.reason}`).toBe("ok");
  });
});
