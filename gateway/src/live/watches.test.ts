import { type Bus, createBus } from "@airlock/shared/bus";
import { newId, topics } from "@airlock/shared/contracts";
import { heartbeat, registerWorker } from "@airlock/shared/db";
import { chooseBackend } from "@airlock/shared/queue";
import { describeWithRedis, redisUrl } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOn, startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { CANCEL, DECIDE, SUBMIT, SUBMIT_BATCH, type Submitted } from "../../testing/operations.ts";
import { parkTask, parkTasks } from "../../testing/parked-task.ts";
import { runTask } from "../../testing/running-task.ts";
import { type EventStream, openStream } from "../../testing/sse.ts";

const APPROVALS = "subscription { approvalUpdates { id status decidedBy task { id status } toolCall { path } } }";
const BATCH = "subscription ($id: ID!) { batchProgress(batchId: $id) { total done counts { queued cancelled } } }";
const TASKS = "subscription ($filter: TaskFilter) { taskUpdates(filter: $filter) { id status } }";
const FLEET = "subscription { fleet { workers { id running } queueStats { runnable running parked } } }";

/** Takes the stream's answers one by one. */
function reader<T>(stream: EventStream, field: string) {
  const frames = stream[Symbol.asyncIterator]();
  return {
    /** The next answer; null at the end. */
    async next(): Promise<T | null> {
      const { value, done } = await frames.next();
      if (done === true || value.event === "complete") return null;
      return (JSON.parse(value.data) as { data: Record<string, T> }).data[field] as T;
    },
    close: () => stream.close(),
  };
}

interface Approval {
  id: string;
  status: string;
  decidedBy: string | null;
  task: { id: string; status: string };
}
interface Task {
  id: string;
  status: string;
}

function suite(backendUrl: () => Promise<string | null>): void {
  let gateway: TestGateway;
  let second: TestGateway;
  let bus: Bus;
  beforeAll(async () => {
    const redis = await backendUrl();
    gateway = await startTestGateway({ redisUrl: redis });
    second = await startOn(gateway.databaseUrl, { redisUrl: redis });
    bus = createBus(chooseBackend({ redisUrl: redis, databaseUrl: gateway.databaseUrl }), () => undefined);
  });
  afterAll(async () => {
    await bus.close();
    await second.stop();
    await gateway.stop();
  });

  test("approvals: first the pending ones, then each when asked for and when decided, on every gateway", async () => {
    const { projectId, key, client } = await gateway.tenant("asked");
    const [first] = await parkTasks(gateway.db, projectId, 1);
    await parkTask(gateway.db, (await gateway.tenant("other")).projectId);
    const streams = await Promise.all([gateway, second].map((at) => openStream(at.url, key, APPROVALS)));
    const readers = streams.map((stream) => reader<Approval>(stream, "approvalUpdates"));
    for (const one of readers) {
      expect(await one.next()).toMatchObject({
        id: first?.approval.id,
        status: "PENDING",
        toolCall: { path: "mail.send" },
      });
    }
    const asked = await parkTask(gateway.db, projectId);
    await bus.publish(topics.events, [[asked.id, 3]]);
    for (const one of readers) expect(await one.next()).toMatchObject({ id: asked.approval.id, status: "PENDING" });
    await client.data(DECIDE, { input: { ...first?.approval, decision: "APPROVE" } });
    for (const one of readers) {
      expect(await one.next()).toMatchObject({
        id: first?.approval.id,
        status: "APPROVED",
        decidedBy: "k",
        task: { status: "QUEUED" },
      });
    }
    await client.data(CANCEL, { id: asked.id });
    for (const one of readers) expect(await one.next()).toMatchObject({ id: asked.approval.id, status: "CANCELLED" });
    for (const one of readers) one.close();
  });

  test("approvals: what no hint told of is found, and a hint about what was told already repeats nothing", async () => {
    const { projectId, key, client } = await gateway.tenant("unheard");
    const approvals = reader<Approval>(await openStream(gateway.url, key, APPROVALS), "approvalUpdates");
    const unheard = await parkTask(gateway.db, projectId);
    expect(await approvals.next()).toMatchObject({ id: unheard.approval.id, status: "PENDING" });
    await client.data(DECIDE, { input: { ...unheard.approval, decision: "DENY" } });
    expect(await approvals.next()).toMatchObject({ id: unheard.approval.id, status: "DENIED" });
    await bus.publish(topics.events, [[unheard.id, 9]]);
    const next = await parkTask(gateway.db, projectId);
    await bus.publish(topics.events, [[next.id, 3]]);
    expect(await approvals.next()).toMatchObject({ id: next.approval.id });
    approvals.close();
  });

  test("a batch: first as it is, then each change, and the end when all have ended", async () => {
    const { key, client } = await gateway.tenant("batched");
    const { submitBatch } = await client.data<{ submitBatch: { id: string } }>(SUBMIT_BATCH, {
      input: { tasks: [{ code: "1" }, { code: "2" }] },
    });
    const stream = await openStream(second.url, key, BATCH, { variables: { id: submitBatch.id } });
    const batch = reader(stream, "batchProgress");
    expect(await batch.next()).toEqual({ total: 2, done: false, counts: { queued: 2, cancelled: 0 } });
    const page = await client.data<{ tasks: { edges: { node: { id: string } }[] } }>(
      "{ tasks { edges { node { id } } } }",
    );
    await client.data(CANCEL, { id: page.tasks.edges[0]?.node.id });
    expect(await batch.next()).toEqual({ total: 2, done: false, counts: { queued: 1, cancelled: 1 } });
    await client.data(CANCEL, { id: page.tasks.edges[1]?.node.id });
    expect(await batch.next()).toEqual({ total: 2, done: true, counts: { queued: 0, cancelled: 2 } });
    expect(await batch.next()).toBeNull();
  });

  test("tasks: those that match when they are submitted and change, and once more when they cease to match", async () => {
    const { key, client, projectId } = await gateway.tenant("listed");
    const filter = { status: ["QUEUED", "RUNNING"], label: { list: "a" } };
    await client.data<Submitted>(SUBMIT, { input: { code: "1", labels: { list: "a" } } });
    const tasks = reader<Task>(await openStream(second.url, key, TASKS, { variables: { filter } }), "taskUpdates");
    await client.data(SUBMIT, { input: { code: "1", labels: { list: "b" } } });
    await runTask(gateway.db, bus, (await gateway.tenant("elsewhere")).projectId);
    await runTask(gateway.db, bus, projectId);
    const { submitTask } = await client.data<Submitted>(SUBMIT, { input: { code: "1", labels: { list: "a" } } });
    expect(await tasks.next()).toEqual({ id: submitTask.id, status: "QUEUED" });
    await client.data(CANCEL, { id: submitTask.id });
    expect(await tasks.next()).toEqual({ id: submitTask.id, status: "CANCELLED" });
    tasks.close();
  });

  test("tasks: first the latest that match, the newest last, where they are asked for", async () => {
    const { key, client } = await gateway.tenant("latest");
    const submit = async () => (await client.data<Submitted>(SUBMIT, { input: { code: "1" } })).submitTask.id;
    const [, second, third] = [await submit(), await submit(), await submit()];
    const latest = (count: number) => `subscription { taskUpdates(latest: ${count}) { id status } }`;
    const tasks = reader<Task>(await openStream(gateway.url, key, latest(2)), "taskUpdates");
    expect(await tasks.next()).toEqual({ id: second, status: "QUEUED" });
    expect(await tasks.next()).toEqual({ id: third, status: "QUEUED" });
    await client.data(CANCEL, { id: second });
    expect(await tasks.next()).toEqual({ id: second, status: "CANCELLED" });
    tasks.close();
    for (const wrong of [-1, 101]) {
      const refused = (await openStream(gateway.url, key, latest(wrong)))[Symbol.asyncIterator]();
      expect((await refused.next()).value).toMatchObject({ data: expect.stringContaining("BAD_INPUT") as string });
    }
  });

  test("the fleet: first as it is, then when a worker or the queue changes; heartbeats alone are no news", async () => {
    const { key, client } = await gateway.tenant("watched");
    interface Fleet {
      workers: { id: string; running: number }[];
      queueStats: { runnable: number };
    }
    const fleet = reader<Fleet>(await openStream(gateway.url, key, FLEET), "fleet");
    expect(await fleet.next()).toMatchObject({ queueStats: { runnable: 0, running: 0, parked: 0 } });
    const id = newId();
    await registerWorker(gateway.db, { id, host: "h", version: "0", capacity: 1, providers: [], tools: [] });
    expect(await fleet.next()).toMatchObject({ workers: expect.arrayContaining([{ id, running: 0 }]) });
    await heartbeat(gateway.db, { id, state: "RUNNING", running: 0 });
    await client.data(SUBMIT, { input: { code: "1" } });
    expect(await fleet.next()).toMatchObject({ queueStats: { runnable: 1 } });
    fleet.close();
  });

  test("the fleet: who comes later sees when its workers were last seen by then", async () => {
    const { key } = await gateway.tenant("late");
    interface Fleet {
      workers: { id: string; lastSeenAt: string }[];
    }
    const id = newId();
    await registerWorker(gateway.db, { id, host: "h", version: "0", capacity: 1, providers: [], tools: [] });
    const FLEET_SEEN = "subscription { fleet { workers { id lastSeenAt } } }";
    const open = async () => reader<Fleet>(await openStream(gateway.url, key, FLEET_SEEN), "fleet");
    const seen = (fleet: Fleet | null) => fleet?.workers.find((worker) => worker.id === id)?.lastSeenAt;
    const early = await open();
    const before = seen(await early.next());
    await heartbeat(gateway.db, { id, state: "RUNNING", running: 0 });
    const late = await open();
    expect(new Date(seen(await late.next()) ?? 0).getTime()).toBeGreaterThan(new Date(before ?? 0).getTime());
    for (const one of [early, late]) one.close();
  });

  test("a batch: who comes later sees all of it as it is by then", async () => {
    const { key, client } = await gateway.tenant("late");
    const { submitBatch } = await client.data<{ submitBatch: { id: string } }>(SUBMIT_BATCH, {
      input: { tasks: [{ code: "1" }] },
    });
    const LABELLED = "subscription ($id: ID!) { batchProgress(batchId: $id) { label } }";
    const open = async () =>
      reader(await openStream(gateway.url, key, LABELLED, { variables: { id: submitBatch.id } }), "batchProgress");
    const early = await open();
    expect(await early.next()).toEqual({ label: null });
    await gateway.db.updateTable("batches").set({ label: "named" }).where("id", "=", submitBatch.id).execute();
    const late = await open();
    expect(await late.next()).toEqual({ label: "named" });
    for (const one of [early, late]) one.close();
  });
}

describe("on Postgres", () => suite(async () => null));
describeWithRedis("on Redis", () => suite(() => redisUrl()));
