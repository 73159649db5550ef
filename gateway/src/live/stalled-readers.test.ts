import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startOn, startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { runTask } from "../../testing/running-task.ts";
import { type EventStream, openStream } from "../../testing/sse.ts";

let gateway: TestGateway;
let tenant: Awaited<ReturnType<TestGateway["tenant"]>>;
/** With more history than any socket's buffers take. */
let taskId: string;
let last: number;
beforeAll(async () => {
  gateway = await startTestGateway();
  tenant = await gateway.tenant("stalled");
  const task = await runTask(gateway.db, null, tenant.projectId);
  const text = "x".repeat(16 * 1024);
  for (let i = 0; i < 100; i += 1) last = await task.print(...Array.from({ length: 10 }, () => text));
  taskId = task.id;
});
afterAll(() => gateway.stop());

const FOLLOW = "subscription ($taskId: ID!, $after: Int) { taskEvents(taskId: $taskId, after: $after) { seq data } }";
/** The buffers are full by then. */
const STALLED_MS = 3_000;
const REVOKE = "mutation ($id: ID!) { revokeApiKey(id: $id) { id } }";

const follow = (at: TestGateway, key: string, after = 0): Promise<EventStream> =>
  openStream(at.url, key, FOLLOW, { variables: { taskId, after } });

async function stallOverSse(at: TestGateway, key: string): Promise<EventStream> {
  const stream = await follow(at, key);
  stream.pause();
  return stream;
}

async function stallOverWebSocket(at: TestGateway, key: string): Promise<WebSocket> {
  const headers = { authorization: `Bearer ${key}` };
  const socket = new WebSocket(`${at.url.replace("http", "ws")}/graphql`, "graphql-transport-ws", { headers });
  socket.on("error", () => undefined);
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "connection_init" }));
  await once(socket, "message");
  socket.send(JSON.stringify({ id: "1", type: "subscribe", payload: { query: FOLLOW, variables: { taskId } } }));
  await once(socket, "message");
  socket.pause();
  return socket;
}

async function openStreams(at: TestGateway): Promise<number> {
  const metrics = await (await at.client(null).raw({ path: "/metrics" })).text();
  return Number(/airlock_gateway_streams\{[^}]*\} (\d+)/.exec(metrics)?.[1]);
}

test("a revoked key loses its streams within 5 s, also those whose reader has stopped", async () => {
  const { key, keyId } = await gateway.key(tenant.projectId, "revoked", ["read"]);
  const stream = await stallOverSse(gateway, key);
  const socket = await stallOverWebSocket(gateway, key);
  await sleep(STALLED_MS);
  expect(await openStreams(gateway)).toBe(2);
  await gateway.admin.data(REVOKE, { id: keyId });
  await expect.poll(() => openStreams(gateway), { timeout: 5_000 }).toBe(0);
  socket.terminate();
  stream.close();
});

test("a key that is revoked while its stream opens does not keep it", async () => {
  const { key, keyId } = await gateway.key(tenant.projectId, "hasty", ["read"]);
  // The stream is counted before its task is looked up.
  const opening = await gateway.db.transaction().execute(async (trx) => {
    await sql`lock table tasks in access exclusive mode`.execute(trx);
    const opened = follow(gateway, key, last);
    await expect.poll(() => openStreams(gateway)).toBe(1);
    await gateway.admin.data(REVOKE, { id: keyId });
    await sleep(200);
    return { opened };
  });
  const frames: string[] = [];
  for await (const frame of await opening.opened) frames.push(frame.data);
  expect(frames[0]).toContain("UNAUTHENTICATED");
});

test("a gateway stops although readers have stopped, and sends the others elsewhere at once", async () => {
  const stopping = await startOn(gateway.databaseUrl);
  const stalled = await stallOverSse(stopping, tenant.key);
  const socket = await stallOverWebSocket(stopping, tenant.key);
  const reading = await follow(stopping, tenant.key, last - 1);
  await sleep(STALLED_MS);
  let from = 0;
  let stopped: Promise<void> | null = null;
  for await (const frame of reading) {
    expect(frame.event).toBe("next");
    from = performance.now();
    stopped = stopping.stop();
  }
  expect(performance.now() - from).toBeLessThan(1_000);
  // Rejects where a part did not stop.
  await stopped;
  expect(performance.now() - from).toBeLessThan(5_000);
  stalled.close();
  socket.terminate();
});

test("a request that never arrives completely does not keep a gateway from stopping", async () => {
  const stopping = await startOn(gateway.databaseUrl);
  const { port } = new URL(stopping.url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined);
  const head = ["POST /graphql HTTP/1.1", "Host: x", `Authorization: Bearer ${tenant.key}`];
  head.push("Content-Type: application/json", "Content-Length: 100");
  socket.write(`${head.join("\r\n")}\r\n\r\n{`);
  await stopping.client(tenant.key).data("{ __typename }");
  // Rejects where a part did not stop.
  await stopping.stop();
  socket.destroy();
});
