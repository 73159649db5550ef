import { createBus } from "@airlock/shared/bus";
import { type Topic, topics } from "@airlock/shared/contracts";
import { chooseBackend, createApprovalQueue, createTaskQueues } from "@airlock/shared/queue";
import { describeWithRedis, startRedisServer } from "@airlock/shared/testing";
import { afterEach, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../testing/gateway.ts";
import { DECIDE, FORK, SET_POLICY } from "../testing/operations.ts";
import { parkTask } from "../testing/parked-task.ts";

let gateway: TestGateway | null = null;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  await gateway?.stop();
  gateway = null;
});

function fail(error: Error): void {
  throw error;
}

/** A worker's ears: what it hears on the bus and takes from the queues. */
async function listenTo(running: TestGateway, redisUrl: string | null) {
  const backend = chooseBackend({ redisUrl, databaseUrl: running.databaseUrl });
  const bus = createBus(backend, fail);
  closing.push(() => bus.close());
  const heard: string[] = [];
  const hear = async (topic: Topic): Promise<void> => {
    await bus.subscribe(topic, (payload) => heard.push(...payload.map((item) => `${topic.name} ${String(item)}`)));
  };
  for (const topic of [topics.wake, topics.events, topics.approvals, topics.policies]) await hear(topic);
  const queues = createTaskQueues(backend, fail);
  closing.push(() => queues.close());
  const consumer = queues.consume("isolate", async (job) => void heard.push(`job ${job.taskId}`), {
    concurrency: 1,
    onError: fail,
  });
  closing.push(() => consumer.close());
  const approvals = createApprovalQueue(backend, fail);
  closing.push(() => approvals.close());
  return { heard, approvals };
}

function suite(start: () => Promise<{ redisUrl: string | null }>): void {
  test("a decision puts the woken task into the queue and tells whoever shows approvals and events", async () => {
    const { redisUrl } = await start();
    gateway = await startTestGateway({ redisUrl });
    const { client, projectId } = await gateway.tenant("heard");
    const { heard } = await listenTo(gateway, redisUrl);
    const task = await parkTask(gateway.db, projectId);
    await client.data(DECIDE, { input: { ...task.approval, decision: "APPROVE" } });
    await expect
      .poll(() => heard, { timeout: 20_000 })
      .toEqual(
        expect.arrayContaining([`job ${task.id}`, `events ${task.id},4`, `approvals ${projectId},${task.approval.id}`]),
      );
  });

  test("a running task's worker is told, and the job that would expire the approval is gone", async () => {
    const { redisUrl } = await start();
    gateway = await startTestGateway({ redisUrl });
    const { client, projectId } = await gateway.tenant("told");
    const { heard, approvals } = await listenTo(gateway, redisUrl);
    const task = await parkTask(gateway.db, projectId, { running: true });
    const control = await parkTask(gateway.db, projectId, { running: true });
    await approvals.add([{ id: task.approval.id, delayMs: 2_000 }]);
    await client.data(DECIDE, { input: { ...task.approval, decision: "DENY" } });
    await expect.poll(() => heard, { timeout: 20_000 }).toContain(`wake ${task.id}`);
    await approvals.add([{ id: control.approval.id, delayMs: 3_000 }]);
    const expired: string[] = [];
    const consumer = approvals.consume(async (id) => void expired.push(id), fail);
    await expect.poll(() => expired, { timeout: 30_000 }).toContain(control.approval.id);
    await consumer.close();
    expect(expired).toEqual([control.approval.id]);
  });

  test("a changed policy is told, and a fork's own approvals get their jobs", async () => {
    const { redisUrl } = await start();
    gateway = await startTestGateway({ redisUrl });
    const { client, projectId } = await gateway.tenant("forked");
    const { heard, approvals } = await listenTo(gateway, redisUrl);
    const task = await parkTask(gateway.db, projectId, { asks: [{ expiresInMs: 1_500 }] });
    const { forkTask } = await client.data<{ forkTask: { id: string; approvals: { id: string }[] } }>(FORK, {
      id: task.id,
    });
    const own = forkTask.approvals[0]?.id ?? "";
    const expired: string[] = [];
    const consumer = approvals.consume(async (id) => void expired.push(id), fail);
    await expect.poll(() => expired, { timeout: 30_000 }).toEqual([own]);
    await consumer.close();
    await client.data(SET_POLICY, { pattern: "**", mode: "DENY" });
    await expect
      .poll(() => heard, { timeout: 20_000 })
      .toEqual(
        expect.arrayContaining([
          `approvals ${projectId},${own}`,
          `policies ${projectId}`,
          `job ${task.id}`,
          `job ${forkTask.id}`,
        ]),
      );
  });
}

describe("on Postgres", () => suite(async () => ({ redisUrl: null })));

describeWithRedis("on Redis", () => {
  suite(async () => {
    const server = await startRedisServer();
    closing.push(() => server.stop());
    return { redisUrl: server.url };
  });

  test("when Redis is gone a decision is still taken, and the outbox keeps the woken task", async () => {
    const server = await startRedisServer();
    try {
      gateway = await startTestGateway({ redisUrl: server.url });
    } finally {
      await server.stop();
    }
    const { client, projectId } = await gateway.tenant("alone");
    const task = await parkTask(gateway.db, projectId);
    const answer = await client.data(DECIDE, { input: { ...task.approval, decision: "APPROVE" } });
    expect(answer).toMatchObject({ decideApproval: { status: "APPROVED", task: { status: "QUEUED" } } });
    const boxed = await gateway.db.selectFrom("outbox").select("task_id").execute();
    expect(boxed).toEqual([{ task_id: task.id }]);
  });
});
