import { type ChildProcess, execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { approve, asked } from "./decisions.ts";
import { killNow, seededRandom } from "./processes.ts";
import { type Rig, startRig } from "./rig.ts";
import { ended, lines, oneTo, run, submit, type TaskView, until } from "./tasks.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };
const exec = promisify(execFile);
const TASKS = 100;
const KILLS = 20;
/** So many at a time that they outlast the kills. */
const LANES = 6;
const REAP_MS = 1_000;

/** Its container is deaf to signals and has a daemon. */
const PROGRAM = `
  process.on("SIGTERM", () => {});
  require("child_process").spawn("sleep", ["600"], { detached: true, stdio: "ignore" }).unref();
  await tools.kv.increment({ key: "begun" });
  await new Promise((resolve) => setTimeout(resolve, 300));
  return [input, typeof (await tools.kv.increment({ key: "ended" }))];`;

describeNeeding("docker", "tasks in containers", () => {
  let rig: Rig;
  beforeAll(async () => {
    const env = {
      AIRLOCK_SANDBOXES: "docker",
      AIRLOCK_DOCKER_SOCKET: engine.socket,
      AIRLOCK_SANDBOX_IMAGE: engine.image,
      AIRLOCK_DOCKER_WARM: "1",
      AIRLOCK_REAP_MS: String(REAP_MS),
    };
    rig = await startRig("Postgres alone", { workers: 3, env });
  }, 900_000);
  afterAll(() => rig.stop());

  const docker = async (...args: string[]): Promise<string> =>
    (await exec("docker", ["--host", `unix://${engine.socket}`, ...args])).stdout.trim();

  /** Those of this test's leases: other tests have containers on the same engine. */
  const containers = async (): Promise<string[]> => {
    const known = await rig.query("select id from leases");
    const ours = new Set(known.map(({ id }) => `airlock-${String(id)}`));
    const listed = await docker("ps", "--all", "--filter", "label=airlock.worker", "--format", "{{.Names}}");
    return listed.split("\n").filter((name) => ours.has(name));
  };

  it("a Bun program asks, parks, and is run again to the same end", async () => {
    const { api } = await rig.tenant();
    const code = `import { hostname } from "node:os";
      const mark: string = crypto.randomUUID(); console.log(mark, Date.now() > 0, hostname());
      const first = await tools.ledger.send({ to: mark });
      return [first.sentTo === mark, typeof Bun, (await tools.ledger.send({ to: mark })).copies];`;
    const id = await submit(api, { code, language: "BUN", environment: "docker" });
    for (let i = 0; i < 2; i++) for (const approval of await asked(api, id)) await approve(api, approval);
    const task = await ended(api, id);
    expect(task).toMatchObject({ status: "SUCCEEDED", output: [true, "object", 1], segments: 3 });
    expect(lines(task)).toHaveLength(1);
    expect(rig.ledger.entries(id)).toHaveLength(2);
  });

  it("an image that is built anew while a task is parked: the task keeps its own, or says that it is gone", async () => {
    const { api } = await rig.tenant();
    const name = `airlock-moving:e2e${process.pid}`;
    const build = async (mark: string): Promise<string> => {
      const made = await docker("run", "--detach", "--user", "0:0", engine.image, "sh", "-c", `echo ${mark} >/mark`);
      await docker("wait", made);
      const image = await docker("commit", made, name);
      await docker("rm", made);
      return image;
    };
    const images = [await build("first")];
    await api("mutation ($input: CreateEnvironmentInput!) { createEnvironment(input: $input) { name } }", {
      input: { name: "moving", provider: "docker", config: { image: name } },
    });
    const code = `const mark = require("fs").readFileSync("/mark", "utf8").trim();
      await tools.ledger.send({ to: "anyone" }); return mark`;
    const park = async (): Promise<[id: string, approvals: Awaited<ReturnType<typeof asked>>]> => {
      const id = await submit(api, { code, environment: "moving" });
      const approvals = await asked(api, id);
      await until(api, id, ({ status }) => status === "PARKED");
      return [id, approvals];
    };
    const outcomeOf = async ([id, approvals]: Awaited<ReturnType<typeof park>>): Promise<unknown[]> => {
      for (const approval of approvals) await approve(api, approval);
      const { status, output, error } = await ended(api, id);
      return [status, output ?? error?.code];
    };
    const [one, other] = [await park(), await park()];
    images.push(await build("second"));
    const later = await park();
    expect([await outcomeOf(one), await outcomeOf(later)]).toEqual([
      ["SUCCEEDED", "first"],
      ["SUCCEEDED", "second"],
    ]);
    // Warm containers of it hold it.
    const warm = await docker("ps", "--quiet", "--filter", `ancestor=${images[0]}`);
    if (warm !== "") await docker("rm", "--force", ...warm.split("\n"));
    await docker("image", "rm", "--force", images[0] as string);
    expect(await outcomeOf(other)).toEqual(["FAILED", "PROBE_FAILED"]);
    await docker("image", "rm", "--force", name);
  });

  it(
    `${TASKS} tasks, ${KILLS} kills of their workers: all succeed, and no container is left`,
    { timeout: 300_000 },
    async () => {
      const { api } = await rig.tenant();
      const tasks: TaskView[] = [];
      const killing = { ended: false };
      const lane = async (): Promise<void> => {
        while (!killing.ended || tasks.length < TASKS) {
          const input = { environment: "docker", input: tasks.length, timeoutMs: 60_000 };
          tasks.push(await run(api, PROGRAM, input));
        }
      };
      const lanes = Promise.all(oneTo(LANES).map(lane));
      const random = seededRandom(20);
      let arriving: Promise<unknown> = Promise.resolve();
      for (let kill = 0; kill < KILLS; kill++) {
        await Promise.all([arriving, sleep(300 + random() * 700)]);
        const [victim] = rig.fleet.workers.splice(Math.floor(random() * rig.fleet.workers.length), 1);
        await killNow(victim as ChildProcess);
        arriving = rig.fleet.addWorker();
      }
      killing.ended = true;
      await Promise.all([arriving, lanes]);
      expect(tasks.length).toBeGreaterThanOrEqual(TASKS);
      for (const task of tasks) expect(task).toMatchObject({ status: "SUCCEEDED", error: null });
      expect(tasks.some(({ segments }) => segments > 1)).toBe(true);
      const counted = 'return [await tools.kv.get({ key: "begun" }), await tools.kv.get({ key: "ended" })]';
      expect((await run(api, counted, { environment: "docker" })).output).toEqual([tasks.length, tasks.length]);
      await expect.poll(containers, { timeout: 30_000, interval: REAP_MS }).toEqual([]);
      const open = "select state from leases where ended_at is null";
      await expect.poll(() => rig.query(open), { timeout: 30_000, interval: REAP_MS }).toEqual([]);
    },
  );
});
