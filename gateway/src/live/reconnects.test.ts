import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bus, createBus } from "@airlock/shared/bus";
import { chooseBackend } from "@airlock/shared/queue";
import { describeWithRedis, redisUrl } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOn, startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { type RunningTask, runTask } from "../../testing/running-task.ts";
import { openStream } from "../../testing/sse.ts";

const FOLLOW = "subscription ($taskId: ID!) { taskEvents(taskId: $taskId) { seq } }";
const EVENTS = 5_000;

/** The same seed throws the same: 1 to `sides`. */
function createDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    // An LCG's low bits repeat soon.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 1 + Math.floor((state / 2 ** 32) * sides);
  };
}

function suite(backendUrl: () => Promise<string | null>): void {
  let gateways: [TestGateway, TestGateway];
  let bus: Bus;
  let tenant: Awaited<ReturnType<TestGateway["tenant"]>>;
  beforeAll(async () => {
    const redis = await backendUrl();
    const first = await startTestGateway({ redisUrl: redis });
    gateways = [first, await startOn(first.databaseUrl, { redisUrl: redis })];
    bus = createBus(chooseBackend({ redisUrl: redis, databaseUrl: first.databaseUrl }), () => undefined);
    tenant = await first.tenant("followed");
  });
  afterAll(async () => {
    await bus.close();
    for (const gateway of gateways.toReversed()) await gateway.stop();
  });

  /** Reads a few events on one gateway, goes to another and reads on, until it is told that it has all. */
  async function hop(task: RunningTask, seed: number, got: number[]): Promise<number> {
    const dice = createDice(seed);
    for (let connects = 1; ; connects += 1) {
      const { url } = gateways[dice(2) - 1] as TestGateway;
      const lastEventId = got.at(-1) ?? 0;
      const stream = await openStream(url, tenant.key, FOLLOW, { variables: { taskId: task.id }, lastEventId });
      let patience = dice(15);
      for await (const frame of stream) {
        if (frame.event === "complete") return connects;
        got.push(Number(frame.id));
        if ((patience -= 1) === 0) break;
      }
      stream.close();
    }
  }

  test(`five hundred reconnects to either gateway during ${EVENTS} events: each seq once, in order`, async ({
    onTestFailed,
  }) => {
    const seed = randomInt(2 ** 31);
    onTestFailed(() => console.error(`seed ${seed}`));
    const dice = createDice(seed + 1);
    const task = await runTask(gateways[0].db, bus, tenant.projectId);
    const got: number[] = [];
    const followed = hop(task, seed, got);
    for (let written = 2; written < EVENTS;) {
      // Never far ahead of the client, so that most reconnects meet live events.
      if (written - got.length > 30) await sleep(1);
      else written = await task.print(...Array.from({ length: dice(15) }, () => "x"));
    }
    const last = await task.succeed();
    const connects = await followed;
    expect(got).toEqual(Array.from({ length: last }, (_, i) => i + 1));
    expect(connects).toBeGreaterThan(500);
  }, 120_000);
}

describe("on Postgres", () => suite(async () => null));
describeWithRedis("on Redis", () => suite(() => redisUrl()));
