import type { Api } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approve, asked, askedOnce, deny } from "./decisions.ts";
import { type BackendName, describeOnEachBackend, type Rig, startRig } from "./rig.ts";
import { ended, lines, look, oneTo, run, seqs, submit, type TaskView, until } from "./tasks.ts";

/**
 * Everything that must be the same however often the program is started: output, timers, random numbers, the clock,
 * nested awaits, calls one by one and side by side. What it printed must be what it remembers to have printed.
 */
const PROGRAM = `
  const told = [];
  const tell = (text) => { told.push(text); console.log(text); };
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const nested = async (n) => (n === 0 ? await tools.util.echo({ value: "deep" }) : (await nested(n - 1)) + n);
  const times = [Date.now()];
  tell("start " + Math.random() + " " + crypto.randomUUID() + " " + Date.now());
  tell(await nested(3));
  setTimeout(() => tell("first timer " + Math.random()), 5);
  await pause(20);
  tell("after a pause " + performance.now());
  const failed = await tools.no.such().catch((error) => error.code);
  tell(failed + " " + Math.random());
  const sleeper = pause(30).then(() => tell("sleeper " + Date.now()));
  const first = await tools.ledger.send({ to: "first" });
  times.push(Date.now());
  tell("first " + first.sentTo + " " + Math.random() + " " + Date.now());
  await sleeper;
  const pair = ["left", "right"].map(async (to) => {
    const { sentTo } = await tools.ledger.send({ to });
    await pause(5);
    tell("done " + sentTo + " " + crypto.getRandomValues(new Uint32Array(1))[0]);
    return await tools.util.echo({ value: sentTo });
  });
  const both = await Promise.all(pair);
  times.push(Date.now());
  tell("end " + Math.random() + " " + performance.now());
  return { told, both, increasing: times.every((time, i) => i === 0 || time >= times[i - 1]) };`;

interface Told {
  told: string[];
  both: string[];
  increasing: boolean;
}

/** Its answers one by one, each after the task has parked again. */
async function answerAll(api: Api, id: string): Promise<TaskView> {
  await approve(api, await askedOnce(api, id));
  const [left, right] = await asked(api, id, 2);
  if (left === undefined || right === undefined) throw new Error("two approvals were expected");
  await approve(api, right);
  const alone = await askedOnce(api, id);
  expect(alone.id).toBe(left.id);
  await approve(api, left);
  return ended(api, id);
}

function expectSameStory(task: TaskView): void {
  expect(task.status).toBe("SUCCEEDED");
  const { told, both, increasing } = task.output as Told;
  expect(lines(task)).toEqual(told);
  expect(
    told.map((line) =>
      line
        .split(" ")
        .slice(0, 2)
        .join(" ")
        .replace(/ [\d.]+$/, ""),
    ),
  ).toEqual([
    "start",
    "deep123",
    "first timer",
    "after a",
    "UNKNOWN_TOOL",
    "sleeper",
    "first first",
    "done right",
    "done left",
    "end",
  ]);
  expect([both, increasing]).toEqual([["left", "right"], true]);
  expect(seqs(task)).toEqual(oneTo(task.events.length));
}

const resumes = (task: TaskView): number => task.events.filter(({ type }) => type === "task.resumed").length;
const kinds = (task: TaskView, type: string): unknown[] =>
  task.events.filter((event) => event.type === type).map(({ data }) => data["waitingFor"]);

function parkingSuite(backend: BackendName, parkBy: "snapshot" | "replay"): void {
  let rig: Rig;

  beforeAll(async () => {
    rig = await startRig(backend, { env: { AIRLOCK_PARK_BY: parkBy, AIRLOCK_CONCURRENCY: "4" } });
  });

  afterAll(() => rig.stop());

  it("a program with output, timers, random numbers and two kinds of waiting goes on as if it had never waited", async () => {
    const { api } = await rig.tenant();
    const id = await submit(api, { code: PROGRAM });
    const task = await answerAll(api, id);
    expectSameStory(task);
    expect([task.segments, resumes(task)]).toEqual([4, 3]);
    expect(kinds(task, "task.parked")).toEqual(["approval", "approval", "approval"]);
    expect(rig.ledger.entries(id).map(({ input }) => input["to"])).toEqual(["first", "right", "left"]);
    const kept = await rig.query("select 1 from kept_guests where task_id = $1", [id]);
    expect(kept).toEqual([]);
  });

  it("keeps a guest as it says: by snapshot, or not at all", async () => {
    const { api } = await rig.tenant();
    const id = await submit(api, { code: "return await tools.ledger.send({ to: 'x' })" });
    const approval = await askedOnce(api, id);
    const kept = await rig.query("select 1 from kept_guests where task_id = $1", [id]);
    expect(kept).toHaveLength(parkBy === "snapshot" ? 1 : 0);
    await approve(api, approval);
    await ended(api, id);
  });

  describe.concurrent("time", () => {
    it("a guest that waits only for a long timer parks and wakes", async () => {
      const { api } = await rig.tenant();
      const code = `
        const from = Date.now();
        console.log("before");
        await new Promise((resolve) => setTimeout(resolve, 4000));
        console.log("after");
        return Date.now() - from >= 4000;`;
      const id = await submit(api, { code });
      const parked = await until(api, id, ({ status }) => status === "PARKED");
      expect(kinds(parked, "task.parked")).toEqual(["timer"]);
      const task = await ended(api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", output: true, segments: 2 });
      expect(lines(task)).toEqual(["before", "after"]);
    });

    it("util.sleep beyond a few seconds parks; the guest's clock has moved on when it wakes", async () => {
      const { api } = await rig.tenant();
      const code =
        "const from = Date.now(); const got = await tools.util.sleep({ ms: 4000 }); return [got, Date.now() - from >= 4000]";
      const id = await submit(api, { code });
      await until(api, id, ({ status }) => status === "PARKED");
      expect(await ended(api, id)).toMatchObject({ status: "SUCCEEDED", output: [null, true], segments: 2 });
    });

    it("a sleep ends also where short timers keep the program from parking", async () => {
      const { api } = await rig.tenant();
      const code = `
        let over = false;
        const sleep = tools.util.sleep({ ms: 3500 }).then(() => { over = true });
        for (let i = 0; i < 80 && !over; i++) await new Promise((resolve) => setTimeout(resolve, 100));
        return over;`;
      expect(await run(api, code)).toMatchObject({ status: "SUCCEEDED", output: true });
    });

    it("an approval, a sleep and a timer pend together; each wakes the task when it comes", async () => {
      const { api } = await rig.tenant();
      const code = `
        const order = [];
        await Promise.all([
          tools.ledger.send({ to: "x" }).then(() => order.push("approved")),
          tools.util.sleep({ ms: 5000 }).then(() => order.push("slept")),
          new Promise((resolve) => setTimeout(resolve, 3500)).then(() => order.push("timer")),
        ]);
        return order;`;
      const id = await submit(api, { code });
      await until(api, id, (task) => task.status === "PARKED" && resumes(task) === 0);
      await until(api, id, (task) => task.status === "PARKED" && resumes(task) === 2);
      await approve(api, await askedOnce(api, id));
      expect(await ended(api, id)).toMatchObject({ output: ["timer", "slept", "approved"], segments: 4 });
    });

    it("timeoutMs counts active time only: a task that is parked for longer than that succeeds", async () => {
      const { api } = await rig.tenant();
      const task = await run(api, "await tools.util.sleep({ ms: 4000 }); return 'awake'", { timeoutMs: 3500 });
      expect(task).toMatchObject({ status: "SUCCEEDED", output: "awake" });
    });

    it("timeoutMs counts the active time of all segments together", async () => {
      const { api } = await rig.tenant();
      const code = `
        const pause = () => new Promise((resolve) => setTimeout(resolve, 2500));
        await pause(); await tools.ledger.send({ to: "x" }); await pause(); return "too late";`;
      const id = await submit(api, { code, timeoutMs: 4000 });
      await approve(api, await askedOnce(api, id));
      expect(await ended(api, id)).toMatchObject({ status: "TIMED_OUT", error: { code: "TIMEOUT" } });
    });
  });

  it("parked tasks hold no slot: four times as many wait as the worker has, and another one runs", async () => {
    const { api } = await rig.tenant();
    const ids = await Promise.all(
      oneTo(16).map((n) => submit(api, { code: `return await tools.ledger.send({ to: "${n}" })` })),
    );
    const approvals = await Promise.all(ids.map((id) => askedOnce(api, id)));
    expect(await run(api, "return 'room'")).toMatchObject({ output: "room" });
    for (let busy = -1; busy !== 0;) {
      const { workers } = await rig.api<{ workers: { running: number; state: string }[] }>(
        "{ workers { running state } }",
      );
      busy = workers.reduce((sum, worker) => sum + worker.running, 0);
    }
    const { queueStats } = await api<{ queueStats: object }>("{ queueStats { runnable running parked } }");
    expect(queueStats).toEqual({ runnable: 0, running: 0, parked: 16 });
    await Promise.all(approvals.map((approval) => approve(api, approval)));
    const tasks = await Promise.all(ids.map((id) => ended(api, id)));
    expect(tasks.map(({ output }) => (output as { sentTo: string }).sentTo)).toEqual(oneTo(16).map(String));
  });

  describe("fork", () => {
    const fork = async (api: Api, id: string, decisions: readonly object[] = []) => {
      const { forkTask } = await api<{ forkTask: { id: string; forkOf: { id: string } } }>(
        "mutation ($id: ID!, $decisions: [DecideApprovalInput!]) { forkTask(id: $id, decisions: $decisions) { id forkOf { id } } }",
        { id, decisions },
      );
      expect(forkTask.forkOf).toEqual({ id });
      return forkTask.id;
    };
    const CODE = `
      const before = [Math.random(), await tools.kv.increment({ key: "n" })];
      const [one, two] = await Promise.all(["one", "two"].map((to) =>
        tools.ledger.send({ to }).then(({ sentTo }) => sentTo, (error) => error.code)));
      return { before, one, two, after: await tools.kv.increment({ key: "n" }) };`;

    it("two answers side by side, from the same past; the original is untouched and gets its own", async () => {
      const { api } = await rig.tenant();
      const id = await submit(api, { code: CODE });
      const [one, two] = await asked(api, id, 2);
      if (one === undefined || two === undefined) throw new Error("two approvals were expected");
      const untouched = await look(api, id);
      const decided = { id: one.id, inputHash: one.inputHash };
      const yes = await fork(api, id, [{ ...decided, decision: "APPROVE" }]);
      const no = await fork(api, id, [{ ...decided, decision: "DENY" }]);
      const [ofYes, ofNo] = await Promise.all([askedOnce(api, yes), askedOnce(api, no)]);
      // What nobody decided is asked about anew, of the fork: an approval of its own that shows the same.
      expect(new Set([two.id, ofYes.id, ofNo.id]).size).toBe(3);
      for (const own of [ofYes, ofNo]) expect([own.inputHash, own.toolCall]).toEqual([two.inputHash, two.toolCall]);
      expect(await look(api, id)).toEqual(untouched);
      await approve(api, ofYes);
      await deny(api, ofNo);
      const [first, second] = await Promise.all([ended(api, yes), ended(api, no)]);
      expect(await look(api, id)).toEqual(untouched);
      await approve(api, one);
      await approve(api, two);
      const original = await ended(api, id);
      const outputs = [first, second, original].map(({ output }) => output as { before: number[]; after: number });
      expect(outputs).toMatchObject([
        { one: "one", two: "two" },
        { one: "APPROVAL_DENIED", two: "APPROVAL_DENIED" },
        { one: "one", two: "two" },
      ]);
      expect(new Set(outputs.map(({ before }) => JSON.stringify(before))).size).toBe(1);
      expect(outputs.map(({ after }) => String(after)).toSorted()).toEqual(["2", "3", "4"]);
      const effects = [yes, no, id].map((task) =>
        rig.ledger
          .entries(task)
          .map(({ input }) => String(input["to"]))
          .toSorted(),
      );
      expect(effects).toEqual([["one", "two"], [], ["one", "two"]]);
      for (const task of [first, second, original]) expect(seqs(task)).toEqual(oneTo(task.events.length));
    });

    it("of a task that is not parked any more is a CONFLICT", async () => {
      const { api } = await rig.tenant();
      const task = await run(api, "return 1");
      await expect(fork(api, task.id)).rejects.toMatchObject({ code: "CONFLICT" });
    });
  });

  describe("the order of outcomes is kept", () => {
    /** The program parks once; what it says in its last run is what it has printed over all of them. */
    const tellsTheSame = async (code: string): Promise<void> => {
      const { api } = await rig.tenant();
      const id = await submit(api, { code });
      await approve(api, await askedOnce(api, id));
      const task = await ended(api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", error: null });
      expect(task.output).toEqual(lines(task));
    };

    it("a refused call that follows an outcome is recorded after it, however they travel", async () => {
      const code = `
        const told = [];
        const tell = (text) => { told.push(text); console.log(text); };
        for (let i = 0; i < 15; i++) {
          await Promise.all(["a", "b", "c"].map(async (name) => {
            tell(name + i + " " + (await tools.util.echo({ value: name })));
            tell(name + i + " " + (await tools.no.such({ name, i }).catch((error) => error.code)));
          }));
        }
        await tools.ledger.send({ to: "x" });
        return told;`;
      await tellsTheSame(code);
    });

    it("timers and outcomes that come at the same moment come in the same order in every run", async () => {
      const code = `
        const told = [];
        const tell = (text) => { told.push(text); console.log(text); };
        let ticks = 0;
        const id = setInterval(() => tell("tick " + ++ticks), 1);
        for (let i = 0; i < 100; i++) tell("call " + (await tools.kv.increment({ key: "n" })));
        clearInterval(id);
        await tools.ledger.send({ to: "x" });
        return told;`;
      await tellsTheSame(code);
    });

    it("odd paths and inputs are found again in the journal", async () => {
      const { api } = await rig.tenant();
      const code = `
        const codes = [];
        for (const path of ["\\ud800", "ü.é", "a b", ""]) codes.push(await tools[path].x({ v: "\\ud800\\0" }).catch((error) => error.code));
        const value = await tools.util.echo({ value: ["\\ud800", "\\0", JSON.parse('{"__proto__":1}')] });
        await tools.ledger.send({ to: "\\ud83d\\ude00" });
        return [codes, JSON.stringify(value)];`;
      const id = await submit(api, { code });
      await approve(api, await askedOnce(api, id));
      const task = await ended(api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", error: null });
      expect(task.output).toEqual([oneTo(4).map(() => "UNKNOWN_TOOL"), '["\\ud800","\\u0000",{"__proto__":1}]']);
    });
  });

  if (parkBy === "replay")
    it("a journal that does not fit the program ends it with REPLAY_DIVERGED, showing both sides", async () => {
      const { api } = await rig.tenant();
      const code = "await tools.util.echo({ value: 'as it was' }); await tools.ledger.send({ to: 'x' }); return 1";
      const id = await submit(api, { code });
      const approval = await askedOnce(api, id);
      const altered = JSON.stringify({ value: "as it never was" });
      await rig.query("update tool_calls set sent = $2 where task_id = $1 and index = 0", [id, altered]);
      await approve(api, approval);
      const task = await ended(api, id);
      expect(task).toMatchObject({ status: "FAILED", error: { code: "REPLAY_DIVERGED", retryable: false } });
      expect(task.error?.message).toContain("as it never was");
      expect(task.error?.message).toContain("as it was");
      expect(rig.ledger.entries(id)).toEqual([]);
    });

  if (parkBy === "snapshot")
    it("a snapshot of another build is not guessed at: the program is run again, to the same end", async () => {
      const { api } = await rig.tenant();
      const id = await submit(api, { code: PROGRAM });
      await approve(api, await askedOnce(api, id));
      const [left, right] = await asked(api, id, 2);
      if (left === undefined || right === undefined) throw new Error("two approvals were expected");
      const altered = await rig.query("update kept_guests set image = $2 where task_id = $1 returning 1", [
        id,
        Buffer.alloc(32, 7),
      ]);
      expect(altered).toHaveLength(1);
      await approve(api, right);
      await askedOnce(api, id);
      await approve(api, left);
      const task = await ended(api, id);
      expectSameStory(task);
      expect(rig.ledger.entries(id).map(({ input }) => input["to"])).toEqual(["first", "right", "left"]);
    });
}

describeOnEachBackend("parking by snapshot", (backend) => parkingSuite(backend, "snapshot"));
describeOnEachBackend("parking by replay", (backend) => parkingSuite(backend, "replay"));
