import { randomInt } from "node:crypto";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bus, createBus } from "@airlock/shared/bus";
import { newId } from "@airlock/shared/contracts";
import { chooseBackend } from "@airlock/shared/queue";
import { describeWithRedis, redisUrl } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_KEY, startOn, startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { CANCEL, SUBMIT, type Submitted } from "../../testing/operations.ts";
import { type RunningTask, runTask } from "../../testing/running-task.ts";
import { type EventStream, type Frame, openStream } from "../../testing/sse.ts";

const FOLLOW =
  "subscription ($taskId: ID!, $after: Int) { taskEvents(taskId: $taskId, after: $after) { taskId seq type data } }";

async function all(stream: EventStream): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of stream) frames.push(frame);
  return frames;
}

function seqs(frames: readonly Frame[]): number[] {
  return frames.filter(({ event }) => event === "next").map(({ id }) => Number(id));
}

const upTo = (last: number, from = 1): number[] => Array.from({ length: last - from + 1 }, (_, i) => from + i);

function suite(backendUrl: () => Promise<string | null>): void {
  let gateway: TestGateway;
  let second: TestGateway;
  let bus: Bus;
  let tenant: Awaited<ReturnType<TestGateway["tenant"]>>;
  beforeAll(async () => {
    const redis = await backendUrl();
    gateway = await startTestGateway({ redisUrl: redis });
    second = await startOn(gateway.databaseUrl, { redisUrl: redis });
    bus = createBus(chooseBackend({ redisUrl: redis, databaseUrl: gateway.databaseUrl }), () => undefined);
    tenant = await gateway.tenant("followed");
  });
  afterAll(async () => {
    await bus.close();
    await second.stop();
    await gateway.stop();
  });

  const run = (): Promise<RunningTask> => runTask(gateway.db, bus, tenant.projectId);
  const follow = (taskId: string, options: { after?: number; lastEventId?: number | string; at?: TestGateway } = {}) =>
    openStream((options.at ?? gateway).url, tenant.key, FOLLOW, {
      variables: { taskId, after: options.after },
      ...(options.lastEventId !== undefined && { lastEventId: options.lastEventId }),
    });

  test("history comes first, then what happens, each frame with its seq as id, and the last event completes", async () => {
    const task = await run();
    await task.print("a", "b");
    const frames = all(await follow(task.id));
    await task.print("c");
    await task.succeed();
    const got = await frames;
    expect(seqs(got)).toEqual(upTo(6));
    expect(got.at(-1)).toEqual({ id: null, event: "complete", data: "" });
    expect(JSON.parse(got[4]?.data ?? "")).toEqual({
      data: {
        taskEvents: { taskId: task.id, seq: 5, type: "task.output", data: { stream: "stdout", text: "c" } },
      },
    });
  });

  test("an ended task answers with the rest of its history, which may be nothing, and completes", async () => {
    const task = await run();
    await task.print("a");
    await task.succeed();
    for (const [after, expected] of [
      [0, [1, 2, 3, 4]],
      [3, [4]],
      [4, []],
      [99, []],
    ] as const) {
      const got = await all(await follow(task.id, { after }));
      expect(seqs(got)).toEqual(expected);
      expect(got.at(-1)?.event).toBe("complete");
    }
  });

  test("a subscriber ahead of its task hears nothing until then, and still hears of the end", async () => {
    const task = await run();
    const frames = all(await follow(task.id, { after: 4 }));
    await task.print("3", "4", "5");
    await task.succeed();
    expect(seqs(await frames)).toEqual([5, 6]);
  });

  test("where history meets live there is no gap and no repeat, whenever one subscribes", async () => {
    const task = await run();
    const frames: Promise<Frame[]>[] = [];
    for (let i = 0; i < 60; i += 1) {
      const written = task.print(...Array.from({ length: randomInt(1, 8) }, () => "x"));
      const at = i % 2 === 0 ? gateway : second;
      frames.push(follow(task.id, { at }).then(all));
      await written;
    }
    const last = await task.succeed();
    for (const got of await Promise.all(frames)) expect(seqs(got)).toEqual(upTo(last));
  });

  test("a client that is cut off at random moments has each seq once and in order; Last-Event-ID wins over after", async () => {
    const task = await run();
    const writing = (async () => {
      for (let i = 0; i < 100; i += 1) await task.print(...Array.from({ length: 10 }, () => "x"));
      return task.succeed();
    })();
    const got: number[] = [];
    let complete = false;
    while (!complete) {
      const stream = await follow(task.id, { after: 0, lastEventId: got.at(-1) ?? 0 });
      const patience = randomInt(1, 60);
      let taken = 0;
      for await (const frame of stream) {
        if (frame.event === "complete") complete = true;
        else got.push(Number(frame.id));
        if ((taken += 1) >= patience) break;
      }
      stream.close();
    }
    expect(got).toEqual(upTo(await writing));
  });

  test("lost hints are healed from Postgres", async () => {
    const task = await runTask(gateway.db, null, tenant.projectId);
    const frames = all(await follow(task.id));
    await task.print("unheard");
    await sleep(50);
    await task.succeed();
    expect(seqs(await frames)).toEqual(upTo(4));
  });

  test("what the gateway itself writes is heard on every gateway", async () => {
    const { submitTask } = await tenant.client.data<Submitted>(SUBMIT, { input: { code: "1" } });
    const frames = [gateway, second].map(async (at) => all(await follow(submitTask.id, { at })));
    await tenant.client.data(CANCEL, { id: submitTask.id });
    for (const got of await Promise.all(frames)) expect(seqs(got)).toEqual([1, 2]);
  });
}

describe("on Postgres", () => suite(async () => null));
describeWithRedis("on Redis", () => suite(() => redisUrl()));

describe("who may follow", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ streamsPerKey: 3 });
  });
  afterAll(() => gateway.stop());

  test("another project's task answers exactly like an unknown one", async () => {
    const owner = await gateway.tenant("owner");
    const task = await runTask(gateway.db, null, owner.projectId);
    const stranger = await gateway.tenant("stranger");
    const ask = async (taskId: string): Promise<Frame[]> =>
      all(await openStream(gateway.url, stranger.key, FOLLOW, { variables: { taskId } }));
    const foreign = await ask(task.id);
    expect(foreign[0]?.data).toContain("NOT_FOUND");
    for (const unknown of [newId(), "not-an-id", "", "\0"]) expect(await ask(unknown)).toEqual(foreign);
  });

  test("a key without the scope read is FORBIDDEN, and one that is unknown is turned away", async () => {
    const { key, projectId } = await gateway.tenant("submitter", ["submit"]);
    const task = await runTask(gateway.db, null, projectId);
    const [refusal] = await all(await openStream(gateway.url, key, FOLLOW, { variables: { taskId: task.id } }));
    expect(refusal?.data).toContain("FORBIDDEN");
    expect((await openStream(gateway.url, "nope", FOLLOW, { variables: { taskId: task.id } })).status).toBe(401);
  });

  test("a seq that cannot be is BAD_INPUT", async () => {
    const { id } = await runTask(gateway.db, null, (await gateway.tenant("confused")).projectId);
    const options = [
      { variables: { taskId: id, after: -1 } },
      { variables: { taskId: id }, lastEventId: "x" },
      { variables: { taskId: id }, lastEventId: "99999999999" },
    ];
    for (const option of options) {
      const [refusal] = await all(await openStream(gateway.url, ADMIN_KEY, FOLLOW, option));
      expect(refusal?.data).toContain("BAD_INPUT");
    }
  });

  test("a key that has its streams open gets QUOTA_EXCEEDED for one more, until one is closed", async () => {
    const { key, projectId } = await gateway.tenant("greedy");
    const task = await runTask(gateway.db, null, projectId);
    const open = () => openStream(gateway.url, key, FOLLOW, { variables: { taskId: task.id, after: 2 } });
    const streams = [await open(), await open(), await open()];
    const [refusal] = await all(await open());
    expect(JSON.parse(refusal?.data ?? "")).toMatchObject({
      errors: [{ extensions: { code: "QUOTA_EXCEEDED", retryable: true } }],
    });
    const metrics = await (await gateway.client(null).raw({ path: "/metrics" })).text();
    expect(metrics).toMatch(/airlock_gateway_streams\{[^}]*\} 3/);
    streams[0]?.close();
    await expect
      .poll(async () => (await (await gateway.client(null).raw({ path: "/metrics" })).text()).match(/streams\{.*/)?.[0])
      .toMatch(/ 2$/);
    const again = await open();
    for (const stream of [again, ...streams]) stream.close();
  });

  test("a revoked key's streams end and say why, also where nobody told this gateway", async () => {
    for (const told of [true, false]) {
      const { key, keyId, projectId } = await gateway.tenant("revoked");
      const task = await runTask(gateway.db, null, projectId);
      const stream = await openStream(gateway.url, key, FOLLOW, { variables: { taskId: task.id, after: 2 } });
      const frames = all(stream);
      if (told) await gateway.admin.data("mutation ($id: ID!) { revokeApiKey(id: $id) { id } }", { id: keyId });
      else await gateway.db.updateTable("api_keys").set({ revoked_at: new Date() }).where("id", "=", keyId).execute();
      const got = await frames;
      expect(got.map(({ event }) => event)).toEqual(["next", "complete"]);
      expect(got[0]?.data).toContain("UNAUTHENTICATED");
    }
  });

  test("a subscription whose answer could not be read is refused", async () => {
    const body = JSON.stringify({ query: 'subscription { taskEvents(taskId: "x") { seq } }' });
    const headers = { "content-type": "application/json", accept: "application/json" };
    const response = await gateway.admin.raw({ method: "POST", headers, body });
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
  });
});

test("a gateway that stops ends its streams without completing them: the rest comes from another", async () => {
  const gateway = await startTestGateway();
  const stopping = await startOn(gateway.databaseUrl);
  const { key, projectId } = await gateway.tenant("moved");
  const task = await runTask(gateway.db, null, projectId);
  const stream = await openStream(stopping.url, key, FOLLOW, { variables: { taskId: task.id, after: 1 } });
  const got: Frame[] = [];
  for await (const frame of stream) {
    got.push(frame);
    void stopping.stop();
  }
  expect(got).toMatchObject([{ id: "2", event: "next" }]);
  const rest = all(await openStream(gateway.url, key, FOLLOW, { variables: { taskId: task.id }, lastEventId: 2 }));
  await task.succeed();
  expect((await rest).map(({ event }) => event)).toEqual(["next", "complete"]);
  await gateway.stop();
});

test("a client that subscribes again over the connection that it has does not keep a gateway from stopping", async () => {
  const gateway = await startTestGateway();
  const stopping = await startOn(gateway.databaseUrl);
  const { key, projectId } = await gateway.tenant("clinging");
  const task = await runTask(gateway.db, null, projectId);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const open = () => openStream(stopping.url, key, FOLLOW, { variables: { taskId: task.id, after: 1 }, agent });
  const stopped = Promise.withResolvers<void>();
  for await (const _ of await open()) stopping.stop().then(stopped.resolve, stopped.reject);
  const asking = (async () => {
    for (;;) await all(await open());
  })();
  await expect(asking).rejects.toMatchObject({ code: expect.stringMatching(/ECONNREFUSED|ECONNRESET/) as string });
  // Rejects where a part did not stop.
  await stopped.promise;
  agent.destroy();
  await gateway.stop();
});

test("a task that is deleted ends its streams", async () => {
  const gateway = await startTestGateway();
  const { key, projectId } = await gateway.tenant("forgetful");
  const task = await runTask(gateway.db, null, projectId);
  const frames = all(await openStream(gateway.url, key, FOLLOW, { variables: { taskId: task.id } }));
  await gateway.db.deleteFrom("tasks").where("id", "=", task.id).execute();
  expect((await frames).at(-1)?.event).toBe("complete");
  await gateway.stop();
});
