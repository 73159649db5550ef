import { type ChildProcess, execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Api, describeNeeding, endProcess, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { killNow } from "./processes.ts";
import { type Rig, startRig } from "./rig.ts";
import { ended, lines, run, submit, type TaskView, until } from "./tasks.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };
const exec = promisify(execFile);
const patience = { timeout: 30_000, interval: 200 };
const CREATE = "mutation ($input: CreateEnvironmentInput!) { createEnvironment(input: $input) { name } }";

/** What no artifact carries from task to task: only who is in the same container finds it. */
const LEAVE = 'require("fs").writeFileSync("/tmp/mark", input); return input';
const FIND = `const fs = require("fs"); return fs.existsSync("/tmp/mark") ? fs.readFileSync("/tmp/mark", "utf8") : null`;

describeNeeding("docker", "containers that a session uses again", () => {
  let rig: Rig;
  beforeAll(async () => {
    const env = {
      AIRLOCK_SANDBOXES: "docker",
      AIRLOCK_DOCKER_SOCKET: engine.socket,
      AIRLOCK_SANDBOX_IMAGE: engine.image,
      AIRLOCK_DOCKER_WARM: "0",
      AIRLOCK_REAP_MS: "500",
    };
    rig = await startRig("Postgres alone", { workers: 1, env });
  }, 900_000);
  afterAll(() => rig.stop());

  async function tenant(retainMs = 3600_000): Promise<Api> {
    const { api } = await rig.tenant();
    const input = { name: "shared", provider: "docker", leasePolicy: "REUSE_BY_SESSION", retainMs };
    await api(CREATE, { input });
    return api;
  }

  const wish = { environment: "shared", session: "s", replayable: false, language: "JAVASCRIPT", timeoutMs: 60_000 };
  const once = (api: Api, code: string, fields: object = {}): Promise<TaskView> =>
    run(api, code, { ...wish, ...fields });

  /** Those of this test's leases that exist, running or not. */
  async function containers(): Promise<string[]> {
    const known = await rig.query("select id from leases");
    const ours = new Set(known.map(({ id }) => `airlock-${String(id)}`));
    const format = ["--filter", "label=airlock.worker", "--format", "{{.Names}}"];
    const { stdout } = await exec("docker", ["--host", `unix://${engine.socket}`, "ps", "--all", ...format]);
    return stdout
      .trim()
      .split("\n")
      .filter((name) => ours.has(name));
  }

  const openLeases = () => rig.query("select state, error from leases where ended_at is null");

  it("the next task, right after the one before, finds its files and none of its processes", async () => {
    const api = await tenant();
    const background = `const { spawn } = require("child_process");
      spawn("sh", ["-c", "while :; do date >>/tmp/beats; sleep 0.05; done"], { detached: true, stdio: "ignore" }).unref();
      require("fs").symlinkSync("/tmp/mark", "link"); ${LEAVE}`;
    expect((await once(api, background, { input: "first" })).status).toBe("SUCCEEDED");
    const code = `const fs = require("fs"); const size = () => fs.statSync("/tmp/beats").size;
      const before = size(); await new Promise((resolve) => setTimeout(resolve, 500));
      return [fs.readFileSync("link", "utf8"), size() === before]`;
    expect(await once(api, code)).toMatchObject({ status: "SUCCEEDED", output: ["first", true] });
    expect((await once(api, FIND, { replayable: true })).output).toBe(null);
    expect((await once(api, FIND)).output).toBe("first");
  });

  it("nobody else finds them: another session, another project, a program that had failed to end by itself", async () => {
    const [api, other] = [await tenant(), await tenant()];
    await once(api, LEAVE, { input: "mine" });
    expect((await once(api, FIND, { session: "t" })).output).toBe(null);
    expect((await once(api, FIND, { session: null })).output).toBe(null);
    expect((await once(other, FIND)).output).toBe(null);
    expect((await once(api, FIND)).output).toBe("mine");
    const late = await once(api, "await new Promise((resolve) => setTimeout(resolve, 60_000))", { timeoutMs: 300 });
    expect(late.status).toBe("TIMED_OUT");
    expect((await once(api, FIND)).output).toBe(null);
  });

  it("two tasks of a session at the same time are in two containers, of which one is the session's", async () => {
    const api = await tenant();
    await once(api, LEAVE, { input: "first" });
    const code = `require("fs").mkdirSync("/tmp/alone");
      await tools.kv.increment({ key: "here" });
      while ((await tools.kv.get({ key: "here" })) < 2) await new Promise((resolve) => setTimeout(resolve, 50));
      ${FIND}`;
    const both = await Promise.all([once(api, code), once(api, code)]);
    expect(both.map(({ status }) => status)).toEqual(["SUCCEEDED", "SUCCEEDED"]);
    expect(new Set(both.map(({ output }) => output))).toEqual(new Set(["first", null]));
  });

  it("what would park is refused in the program, which goes on; nobody is asked, and nothing was done", async () => {
    const api = await tenant();
    const code = `const said = [];
      for (const call of [() => tools.ledger.send({ to: "anyone" }), () => tools.human.ask({ question: "Well?" }),
        () => tools.util.sleep({ ms: 3600_000 })])
        await call().catch((error) => said.push([error.code, error.message.includes("replayable: false")]));
      return said`;
    const task = await once(api, code);
    const denied = ["TOOL_DENIED", true];
    expect(task).toMatchObject({ status: "SUCCEEDED", output: [denied, denied, denied], segments: 1, approvals: [] });
    expect(task.toolCalls.map(({ status }) => status)).toEqual(["DENIED", "DENIED", "DENIED"]);
    expect(rig.ledger.entries(task.id)).toEqual([]);
  });

  it.each([
    ["JAVASCRIPT", "await new Promise((resolve) => setTimeout(resolve, 3_300)); return 1"],
    ["PYTHON", "import time\ntime.sleep(3.3)\nreturn 1"],
  ])("a timer that would park another task is waited for: %s", async (language, code) => {
    const task = await once(await tenant(), code, { language });
    expect(task).toMatchObject({ status: "SUCCEEDED", output: 1, segments: 1 });
  });

  it("a container that nobody used for its time is destroyed, and so is one that is given up", async () => {
    const [brief, long] = [await tenant(1_000), await tenant()];
    const leaseOf = async (task: TaskView): Promise<string> =>
      `airlock-${String((await rig.query("select id from leases where task_id = $1", [task.id]))[0]?.["id"])}`;
    const [late, given] = [
      await leaseOf(await once(brief, LEAVE, { input: "a" })),
      await leaseOf(await once(long, LEAVE, { input: "b" })),
    ];
    await expect.poll(containers, patience).not.toContain(late);
    expect(await containers()).toContain(given);
    const id = given.slice("airlock-".length);
    await long("mutation ($id: ID!) { releaseLease(id: $id) { state } }", { id });
    await expect.poll(containers, patience).not.toContain(given);
    expect([(await once(brief, FIND)).output, (await once(long, FIND)).output]).toEqual([null, null]);
  });

  it("kill -9 of the worker ends the running task as WORKER_LOST, never run again, and leaves no container", async () => {
    const api = await tenant();
    await once(api, LEAVE, { input: "rests" });
    const code = `console.log("begun"); await new Promise((resolve) => setTimeout(resolve, 600_000))`;
    const id = await submit(api, { ...wish, session: "other", code });
    await until(api, id, (task) => lines(task).length > 0);
    await killNow(rig.fleet.workers.pop() as ChildProcess);
    await rig.fleet.addWorker();
    const task = await ended(api, id);
    expect(task).toMatchObject({ status: "FAILED", segments: 1, error: { code: "WORKER_LOST", retryable: true } });
    expect(lines(task)).toEqual(["begun"]);
    await expect.poll(containers, patience).toEqual([]);
    await expect.poll(openLeases, patience).toEqual([]);
    expect((await once(api, FIND)).output).toBe(null);
  });

  it("a worker that stops takes along what rests on it", async () => {
    const api = await tenant();
    await once(api, LEAVE, { input: "rests" });
    expect(await containers()).not.toEqual([]);
    await endProcess(rig.fleet.workers.pop() as ChildProcess);
    expect(await containers()).toEqual([]);
    expect(await openLeases()).toEqual([]);
  });
});
