import { type Bus, createBus } from "@airlock/shared/bus";
import { chooseBackend } from "@airlock/shared/queue";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { runTask } from "../../testing/running-task.ts";
import { type EventStream, openStream } from "../../testing/sse.ts";

let gateway: TestGateway;
let bus: Bus;
let tenant: Awaited<ReturnType<TestGateway["tenant"]>>;
beforeAll(async () => {
  gateway = await startTestGateway();
  bus = createBus(chooseBackend({ redisUrl: null, databaseUrl: gateway.databaseUrl }), () => undefined);
  tenant = await gateway.tenant("followed");
});
afterAll(async () => {
  await bus.close();
  await gateway.stop();
});

const FOLLOW = "subscription ($taskId: ID!) { taskEvents(taskId: $taskId) { seq data } }";

function follow(taskId: string): Promise<EventStream> {
  return openStream(gateway.url, tenant.key, FOLLOW, { variables: { taskId } });
}

async function seqsOf(stream: EventStream): Promise<number[]> {
  const seqs: number[] = [];
  for await (const frame of stream) if (frame.event === "next") seqs.push(Number(frame.id));
  return seqs;
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);

async function fellBehind(): Promise<number> {
  const metrics = await (await gateway.client(null).raw({ path: "/metrics" })).text();
  return Number(/airlock_gateway_slow_subscribers_total\{[^}]*\} (\d+)/.exec(metrics)?.[1]);
}

test("subscribers that stop reading lose their queue, not an event, and those that read on wait for none of them", async () => {
  const task = await runTask(gateway.db, bus, tenant.projectId);
  const paused = await Promise.all(Array.from({ length: 20 }, () => follow(task.id)));
  for (const stream of paused) stream.pause();
  const quick = follow(task.id).then(seqsOf);
  // 32 MB a subscriber: more than any socket's buffers take.
  const text = "x".repeat(16 * 1024);
  for (let i = 0; i < 200; i += 1) await task.print(...Array.from({ length: 10 }, () => text));
  const last = await task.succeed();
  expect(await quick).toEqual(upTo(last));
  expect(await fellBehind()).toBeGreaterThanOrEqual(20);
  for (const stream of paused) stream.resume();
  for (const seqs of await Promise.all(paused.map(seqsOf))) expect(seqs).toEqual(upTo(last));
}, 120_000);
