import {
  createTestDatabase,
  describeWithRedis,
  type Proxy,
  type RedisServer,
  startProxy,
  startRedisServer,
  type TestDatabase,
} from "@airlock/shared/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { newId } from "../contracts/index.ts";
import { type Backend, createApprovalQueue, createTaskQueues, prepareBackend } from "./index.ts";

const ignore = (): void => undefined;
/** A program starts, and its queue is away until a moment later. */
const PATIENCE = { timeout: 20_000, interval: 100 };

function suite(open: () => Promise<Backend>): void {
  let backend: Backend;
  let proxy: Proxy;
  beforeAll(async () => {
    backend = await open();
    await prepareBackend(backend);
  });
  beforeEach(async () => {
    proxy = await startProxy(backend.url);
    await proxy.cut();
  });
  afterEach(() => proxy.cut());

  const attempt = (sent: Promise<void>): Promise<string> =>
    sent.then(
      () => "sent",
      () => "refused",
    );

  it("the task queues take jobs once the server is back", async () => {
    const queues = createTaskQueues({ ...backend, url: proxy.url }, ignore);
    const add = () => attempt(queues.add([{ taskId: newId(), provider: "isolate", job: 1, priority: 0 }]));
    expect(await add()).toBe("refused");
    await proxy.mend();
    await expect.poll(add, PATIENCE).toBe("sent");
    await queues.close();
  });

  it("the approval queue takes and removes jobs once the server is back, and they are delivered", async () => {
    const approvals = createApprovalQueue({ ...backend, url: proxy.url }, ignore);
    const [kept, removed] = [newId(), newId()];
    const add = () => attempt(approvals.add([kept, removed].map((id) => ({ id, delayMs: 1_000 }))));
    expect(await add()).toBe("refused");
    await proxy.mend();
    await expect.poll(add, PATIENCE).toBe("sent");
    await approvals.remove([removed]);
    const expired: string[] = [];
    const consumer = approvals.consume(async (id) => void expired.push(id), ignore);
    await expect.poll(() => expired, PATIENCE).toEqual([kept]);
    await consumer.close();
    await approvals.close();
  });
}

describe("after a first connection that failed, on Postgres", () => {
  let database: TestDatabase;
  afterAll(() => database.drop());
  suite(async () => {
    database = await createTestDatabase();
    return { kind: "postgres", url: database.url };
  });
});

describeWithRedis("after a first connection that failed, on Redis", () => {
  let own: RedisServer;
  afterAll(() => own.stop());
  suite(async () => {
    own = await startRedisServer();
    return { kind: "redis", url: own.url };
  });
});
