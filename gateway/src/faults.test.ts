import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  createTestDatabase,
  describeWithRedis,
  freePort,
  redisUrl,
  startProxy,
  startRedisServer,
} from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../testing/client.ts";
import { ADMIN_KEY, startOn, startTestGateway, type TestGateway } from "../testing/gateway.ts";
import { SUBMIT, SUBMIT_BATCH, type Submitted, TASK } from "../testing/operations.ts";

let gateway: TestGateway | null = null;
afterEach(async () => {
  await gateway?.stop();
  gateway = null;
});

describeWithRedis("with Redis", () => {
  test("a task and a batch are accepted and enqueued", async () => {
    gateway = await startTestGateway({ redisUrl: await redisUrl() });
    await gateway.admin.data<Submitted>(SUBMIT, { input: { code: "return 1" } });
    await gateway.admin.data(SUBMIT_BATCH, { input: { tasks: [{ code: "1" }, { code: "2" }] } });
    expect((await gateway.admin.raw({ path: "/readyz" })).status).toBe(200);
  });

  test("when Redis goes away tasks are still accepted, and the gateway is not ready", async () => {
    const redis = await startRedisServer();
    try {
      gateway = await startTestGateway({ redisUrl: redis.url });
      await gateway.admin.data<Submitted>(SUBMIT, { input: { code: "return 0" } });
    } finally {
      await redis.stop();
    }
    const { submitTask } = await gateway.admin.data<Submitted>(SUBMIT, { input: { code: "return 1" } });
    await gateway.admin.data(SUBMIT_BATCH, { input: { tasks: [{ code: "1" }] } });
    expect(await gateway.admin.data(TASK, { id: submitTask.id })).toMatchObject({ task: { status: "QUEUED" } });
    const { rows } = await sql<{ n: number }>`select count(*)::integer as n from outbox`.execute(gateway.db);
    expect(rows[0]?.n).toBe(3);
    expect(
      await gateway.admin.data("mutation ($id: ID!) { cancelTask(id: $id) { status } }", { id: submitTask.id }),
    ).toEqual({
      cancelTask: { status: "CANCELLED" },
    });
    const ready = await gateway.admin.raw({ path: "/readyz" });
    expect(ready.status).toBe(503);
  });
});

test("when the database goes away the answer is UNAVAILABLE and retryable, and all is well when it is back", async () => {
  const database = await createTestDatabase();
  const proxy = await startProxy(database.url);
  const behind = await startOn(proxy.url);
  try {
    await behind.admin.data("{ __typename }");
    await proxy.cut();
    for (const query of ["{ queueStats { runnable } }", 'mutation { submitTask(input: {code: "1"}) { id } }']) {
      expect(await behind.admin.failure(query)).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    }
    const unknown = await behind.client("a-key-that-is-not-cached").send("{ __typename }");
    expect(unknown).toMatchObject({ status: 503, errors: [{ extensions: { code: "UNAVAILABLE", retryable: true } }] });
    expect((await behind.admin.raw({ path: "/readyz" })).status).toBe(503);
    expect((await behind.admin.raw({ path: "/healthz" })).status).toBe(200);
    await proxy.mend();
    const readiness = async () => (await behind.admin.raw({ path: "/readyz" })).json();
    await expect.poll(readiness, { timeout: 20_000 }).toMatchObject({ ready: true });
    expect(await behind.admin.data("{ queueStats { runnable } }")).toEqual({ queueStats: { runnable: 0 } });
  } finally {
    await behind.stop();
    await proxy.cut();
    await database.drop();
  }
});

test("the program migrates, serves, and exits 0 on SIGTERM", async () => {
  const database = await createTestDatabase();
  const port = await freePort();
  const env = {
    DATABASE_URL: database.url,
    AIRLOCK_PORT: String(port),
    AIRLOCK_ADMIN_KEY: ADMIN_KEY,
    AIRLOCK_LOG: "fatal",
  };
  const child = spawn(process.execPath, [new URL("./main.ts", import.meta.url).pathname], { env, stdio: "inherit" });
  const exited = once(child, "exit");
  const client = createClient(`http://127.0.0.1:${port}`, ADMIN_KEY);
  await expect
    .poll(async () => (await client.raw({ path: "/readyz" }).catch(() => null))?.status, { timeout: 30_000 })
    .toBe(200);
  await client.data(SUBMIT, { input: { code: "return 1" } });
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  await database.drop();
});

test("the environment's faults are told all at once", async () => {
  const child = spawn(process.execPath, [new URL("./main.ts", import.meta.url).pathname], {
    env: { AIRLOCK_PORT: "99999", AIRLOCK_ADMIN_KEY: "short" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
  expect(await once(child, "close")).toEqual([1, null]);
  for (const name of ["DATABASE_URL", "AIRLOCK_PORT", "AIRLOCK_ADMIN_KEY"]) expect(text).toContain(name);
});
