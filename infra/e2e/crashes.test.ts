import { setTimeout as sleep } from "node:timers/promises";
import { type Api, type Fleet, type RedisServer, startFleet, startRedisServer } from "@airlock/shared/testing";
import { expect, it } from "vitest";
import { approve, answer, askedOnce, pendingOf } from "./decisions.ts";
import { killNow, killWorkers, seededRandom } from "./processes.ts";
import { type BackendName, describeOnEachBackend, QUICK, type Rig, type RigOptions, startRig } from "./rig.ts";
import {
  ended,
  lines,
  look,
  oneTo,
  run,
  seqs,
  submit,
  submitBatch,
  tasksOf,
  type TaskView,
  until,
  untilBatch,
} from "./tasks.ts";

/** The bars are 1,000 parked tasks and 200 kills; the defaults keep a run of all tests short. */
const PARKED = Number(process.env["AIRLOCK_TEST_PARKED"] ?? 60);
const KILLS = Number(process.env["AIRLOCK_TEST_KILLS"] ?? 12);
const SEED = Number(process.env["AIRLOCK_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

async function withRig(backend: BackendName, options: RigOptions, body: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = await startRig(backend, options);
  try {
    await body(rig);
  } finally {
    await rig.stop();
  }
}

const called = (task: TaskView): unknown[] => task.toolCalls.map(({ path, status }) => [path, status]);

describeOnEachBackend("everything is killed", (backend) => {
  it(
    `${PARKED} parked tasks survive kill -9 of every worker and the gateway, and an empty queue: each resumes once`,
    { timeout: 60_000 + PARKED * 300 },
    () =>
      withRig(backend, { workers: 2 }, async (rig) => {
        const code = `
          console.log("before " + input.key);
          await tools.ledger.send({ to: input.key });
          console.log("after " + input.key);
          return await tools.kv.increment({ key: input.key });`;
        const keys = oneTo(PARKED).map((n) => `task ${n}`);
        const batch = await submitBatch(
          rig.api,
          keys.map((key) => ({ code, input: { key } })),
        );
        await untilBatch(rig.api, batch, ({ counts }) => counts.parked === PARKED);
        await Promise.all([killWorkers(rig.fleet), killNow(rig.fleet.gateway)]);
        const redis = rig.redis === null ? null : await restartEmpty(rig.redis);
        const fleet = await startAnew(rig);
        try {
          const decided = await decideAll(fleet.api, batch);
          expect(decided).toEqual(oneTo(PARKED).map(() => "APPROVED"));
          expect(await decideAll(fleet.api, batch)).toEqual([]);
          await untilBatch(fleet.api, batch, ({ counts }) => counts.succeeded === PARKED);
          const tasks = await tasksOf(fleet.api, batch);
          expect(tasks.map(({ output, segments }) => [output, segments])).toEqual(keys.map(() => [1, 2]));
          const sent = rig.ledger.entries().map(({ input }) => String(input["to"]));
          expect(sent.toSorted()).toEqual(keys.toSorted());
          for (const { id, input } of tasks.slice(0, 20)) {
            const task = await look(fleet.api, id);
            const { key } = input as { key: string };
            expect(lines(task)).toEqual([`before ${key}`, `after ${key}`]);
            expect(seqs(task)).toEqual(oneTo(task.events.length));
          }
        } finally {
          await fleet.stop();
          await redis?.stop();
        }
      }),
  );
});

async function restartEmpty(redis: RedisServer): Promise<RedisServer> {
  process.kill(redis.pid, "SIGKILL");
  await redis.stop();
  return startRedisServer([], { port: Number(new URL(redis.url).port) });
}

function startAnew({ database, redis, ledger }: Rig): Promise<Fleet> {
  return startFleet({ databaseUrl: database.url, redisUrl: redis?.url ?? null, env: { ...QUICK, ...ledger.env } });
}

async function decideAll(api: Api, batch: string): Promise<(string | undefined)[]> {
  const { decideApprovals } = await api<{ decideApprovals: { approval: { status: string } | null }[] }>(
    `mutation ($filter: ApprovalFilter) { decideApprovals(filter: $filter, decision: APPROVE) { approval { status } } }`,
    { filter: { batch } },
  );
  return decideApprovals.map(({ approval }) => approval?.status);
}

describeOnEachBackend("workers are killed at random", (backend) => {
  const kills = Math.ceil(KILLS / 2);
  const KEYS = ["red", "green", "blue", "black"];
  const CALLS = 20;
  const CODE = `
    const seen = [];
    for (let i = 0; i < ${CALLS}; i++) {
      console.log("call " + i);
      seen.push(await tools.kv.increment({ key: input[i % input.length] }));
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    return seen.length;`;

  it(
    `${kills} kills of random workers: every task succeeds, and totals are exact`,
    { timeout: 60_000 + kills * 10_000 },
    () =>
      withRig(backend, { workers: 3, env: { AIRLOCK_CONCURRENCY: "8" } }, async (rig) => {
        console.log(`AIRLOCK_TEST_SEED=${SEED}`);
        const random = seededRandom(SEED);
        const killing = { ended: false };
        const tasks: TaskView[] = [];
        const lane = async (): Promise<void> => {
          do tasks.push(await run(rig.api, CODE, { input: KEYS }));
          while (!killing.ended);
        };
        const lanes = Promise.all(oneTo(12).map(lane));
        try {
          await killAtRandom(rig.fleet, kills, random);
        } finally {
          killing.ended = true;
          await lanes;
        }
        for (const task of tasks) {
          expect(task).toMatchObject({ status: "SUCCEEDED", output: CALLS, error: null });
          expect(lines(task)).toEqual(oneTo(CALLS).map((n) => `call ${n - 1}`));
          expect(called(task)).toEqual(oneTo(CALLS).map(() => ["kv.increment", "SUCCEEDED"]));
          expect(seqs(task)).toEqual(oneTo(task.events.length));
          for (const type of ["tool.called", "tool.completed"]) {
            const indexes = task.events.filter((event) => event.type === type).map(({ data }) => data["index"]);
            expect([type, indexes]).toEqual([type, oneTo(CALLS).map((n) => n - 1)]);
          }
        }
        const total = (tasks.length * CALLS) / KEYS.length;
        const totals = await run(rig.api, "return await Promise.all(input.map((key) => tools.kv.get({ key })))", {
          input: KEYS,
        });
        expect(totals.output).toEqual(KEYS.map(() => total));
        expect(tasks.some(({ segments }) => segments > 1)).toBe(true);
      }),
  );
});

/** Two are alive at any time; a new one takes the place of each that was killed. */
async function killAtRandom(fleet: Fleet, kills: number, random: () => number): Promise<void> {
  let arriving: Promise<unknown> = Promise.resolve();
  for (let kill = 0; kill < kills; kill += 1) {
    await sleep(100 + random() * 700);
    await arriving;
    const [victim] = fleet.workers.splice(Math.floor(random() * fleet.workers.length), 1);
    if (victim) await killNow(victim);
    arriving = fleet.addWorker();
  }
  await arriving;
}

const MODES = ["snapshot", "replay"] as const;

describeOnEachBackend("a worker is killed with -9 in a resumed segment", (backend) => {
  it.each(MODES)("after further calls and output: each effect and each line is there once (by %s)", (parkBy) =>
    withRig(backend, { env: { AIRLOCK_PARK_BY: parkBy } }, async (rig) => {
      const code = `
        const told = [];
        const tell = (text) => { told.push(text); console.log(text); };
        tell("before " + Math.random());
        await tools.kv.increment({ key: "before" });
        await tools.ledger.send({ to: "first" });
        tell("resumed " + Math.random());
        const n = await tools.kv.increment({ key: "after" });
        await tools.ledger.add({ line: "once" });
        tell("counted " + n + " " + Math.random());
        tell(await tools.ledger.set({ line: "twice, with one key", gate: "open" }));
        await tools.ledger.send({ to: "second" });
        tell("end " + (await tools.kv.increment({ key: "after" })) + " " + Math.random());
        return told;`;
      const id = await submit(rig.api, { code });
      await approve(rig.api, await askedOnce(rig.api, id));
      await until(rig.api, id, () => rig.ledger.entries(id).some(({ tool }) => tool === "set"));
      await killWorkers(rig.fleet);
      rig.ledger.open("open");
      await rig.fleet.addWorker();
      await approve(rig.api, await askedOnce(rig.api, id));
      const task = await ended(rig.api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", segments: 4, error: null });
      expect(lines(task)).toEqual(task.output);
      expect(lines(task).map((line) => line.split(" ")[0])).toEqual(["before", "resumed", "counted", "wrote", "end"]);
      expect(task.toolCalls.map(({ path, status }) => [path, status])).toEqual(
        ["kv.increment", "ledger.send", "kv.increment", "ledger.add", "ledger.set", "ledger.send", "kv.increment"].map(
          (path) => [path, "SUCCEEDED"],
        ),
      );
      const entries = rig.ledger.entries(id);
      expect(entries.map(({ tool }) => tool)).toEqual(["send", "add", "set", "set", "send"]);
      expect(entries.filter(({ tool }) => tool === "set").map(({ idempotencyKey }) => idempotencyKey)).toEqual(
        oneTo(2).map(() => `${id}/4`),
      );
      const totals = await run(
        rig.api,
        "return [await tools.kv.get({ key: 'before' }), await tools.kv.get({ key: 'after' })]",
      );
      expect(totals.output).toEqual([1, 2]);
      expect(seqs(task)).toEqual(oneTo(task.events.length));
    }),
  );

  it.each(MODES)("a decision for a task whose worker just died is taken by the next one (by %s)", (parkBy) =>
    withRig(backend, { env: { AIRLOCK_PARK_BY: parkBy } }, async (rig) => {
      const code = `
        let done = false;
        const sent = tools.ledger.send({ to: "x" }).then((got) => { done = true; return got.sentTo });
        while (!done) await new Promise((resolve) => setTimeout(resolve, 50));
        return await sent;`;
      const id = await submit(rig.api, { code });
      const isAsking = (task: TaskView): boolean => task.status === "RUNNING" && pendingOf(task).length === 1;
      const running = await until(rig.api, id, isAsking);
      await killWorkers(rig.fleet);
      for (const approval of pendingOf(running)) await approve(rig.api, approval);
      await rig.fleet.addWorker();
      const task = await ended(rig.api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", output: "x" });
      expect(task.segments).toBeGreaterThan(1);
      expect(rig.ledger.entries(id)).toHaveLength(1);
    }),
  );
});

describeOnEachBackend("a worker is frozen beyond its lock and comes back", (backend) => {
  /** Enough that the tasks still run when the second worker freezes. */
  const CALLS = 150;

  it("others take its tasks over, and nothing that it still does counts", { timeout: 180_000 }, () =>
    withRig(backend, { workers: 2, env: { AIRLOCK_CONCURRENCY: "8" } }, async (rig) => {
      const code = `
        for (let i = 0; i < ${CALLS}; i++) {
          console.log("call " + i);
          await tools.kv.increment({ key: "n" });
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
        return "done";`;
      const ids = await Promise.all(oneTo(8).map(() => submit(rig.api, { code })));
      const inFlight = await submit(rig.api, { code: "return await tools.ledger.add({ line: 'x', gate: 'open' })" });
      await Promise.all(ids.map((id) => until(rig.api, id, (task) => task.toolCalls.length > 3)));
      await until(rig.api, inFlight, () => rig.ledger.entries(inFlight).length === 1);
      // Both in turn, so that each had something to lose; the second takes over what the first held.
      for (const worker of rig.fleet.workers) {
        worker.kill("SIGSTOP");
        await lost(rig.api);
        worker.kill("SIGCONT");
        await allBack(rig.api);
      }
      const before = await Promise.all(ids.map((id) => ended(rig.api, id)));
      await answer(rig.api, await askedOnce(rig.api, inFlight), {
        outcome: "happened",
        result: "as a person found out",
      });
      const outside = await ended(rig.api, inFlight);
      rig.ledger.open("open");
      await allBack(rig.api);
      for (const task of before) {
        expect(task).toMatchObject({ status: "SUCCEEDED", output: "done" });
        expect(lines(task)).toEqual(oneTo(CALLS).map((n) => `call ${n - 1}`));
        expect(called(task)).toEqual(oneTo(CALLS).map(() => ["kv.increment", "SUCCEEDED"]));
        expect(seqs(task)).toEqual(oneTo(task.events.length));
        expect(await look(rig.api, task.id)).toEqual(task);
      }
      expect(before.some(({ segments }) => segments > 1)).toBe(true);
      expect(await run(rig.api, "return await tools.kv.get({ key: 'n' })")).toMatchObject({ output: 8 * CALLS });
      expect(outside).toMatchObject({ status: "SUCCEEDED", output: "as a person found out" });
      expect(await look(rig.api, inFlight)).toEqual(outside);
      expect(rig.ledger.entries(inFlight)).toHaveLength(1);
    }),
  );
});

interface WorkerView {
  id: string;
  state: string;
  lastSeenAt: string;
}

const workersOf = async (api: Api): Promise<WorkerView[]> =>
  (await api<{ workers: WorkerView[] }>("{ workers { id state lastSeenAt } }")).workers;

async function lost(api: Api): Promise<void> {
  while (!(await workersOf(api)).some(({ state }) => state === "LOST")) await sleep(50);
}

/** Each worker has told Postgres twice more that it lives: what it had in hand before is over. */
async function allBack(api: Api): Promise<void> {
  for (let beat = 0; beat < 2; beat += 1) {
    const then = new Map((await workersOf(api)).map(({ id, lastSeenAt }) => [id, lastSeenAt]));
    const isBack = ({ id, state, lastSeenAt }: WorkerView): boolean =>
      state === "RUNNING" && lastSeenAt !== then.get(id);
    while (!(await workersOf(api)).every(isBack)) await sleep(50);
  }
}
