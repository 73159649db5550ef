import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { approve, asked } from "./decisions.ts";
import { killNow } from "./processes.ts";
import { type Rig, startRig } from "./rig.ts";
import { ended, submit, until } from "./tasks.ts";

const run = promisify(execFile);
const FOLDER = path.join(tmpdir(), "airlock-process");

/** Two approvals, randomness, the clock and a timer: all that a re-run could see otherwise. */
const PROGRAM = `
  console.log("start", input.name, Math.random(), crypto.randomUUID());
  const first = await tools.ledger.send({ to: input.name });
  await new Promise((resolve) => setTimeout(resolve, 5));
  console.log("between", typeof first);
  const second = await tools.ledger.send({ to: input.name + " again" });
  return [input.name, typeof first, typeof second, Math.random() !== Math.random()];`;

describeNeeding(["bwrap", "root"], "tasks in processes", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig("Postgres alone", { workers: 2, env: { AIRLOCK_SANDBOXES: "isolate,process" } });
  }, 180_000);
  afterAll(() => rig.stop());

  it("a program with two approvals gives on process what it gives on isolate", async () => {
    const outputs = await Promise.all(
      ["isolate", "process"].map(async (environment) => {
        const { api } = await rig.tenant();
        const id = await submit(api, { code: PROGRAM, input: { name: "ann" }, environment });
        for (let i = 0; i < 2; i++) for (const approval of await asked(api, id)) await approve(api, approval);
        const task = await ended(api, id);
        const sent = rig.ledger.entries(id).map(({ input }) => input);
        return [task.status, task.output, sent, task.toolCalls.map((call) => call.path)];
      }),
    );
    expect(outputs[0]?.[0]).toBe("SUCCEEDED");
    expect(outputs[1]).toEqual(outputs[0]);
  });

  it("Bash asks for approval, parks, and goes on where it was", async () => {
    const { api } = await rig.tenant();
    const code = `a=$(tool ledger.send '{"to":"bash"}'); echo '"done"' >"$AIRLOCK_OUTPUT"`;
    const id = await submit(api, { code, language: "BASH", environment: "process" });
    for (const approval of await asked(api, id)) await approve(api, approval);
    expect(await ended(api, id)).toMatchObject({ status: "SUCCEEDED", output: "done" });
    expect(rig.ledger.entries(id)).toHaveLength(1);
  });

  it("kill -9 of a worker: its processes, groups and folders go, and its tasks finish elsewhere", async () => {
    const { api } = await rig.tenant();
    const mark = `mark${process.pid}${Date.now()}`;
    const code = `require("child_process").spawn("sleep", ["600"], { argv0: "${mark}", detached: true, stdio: "ignore" });
      console.log("on"); await new Promise((resolve) => setTimeout(resolve, 3000)); return 1`;
    const ids = await Promise.all(Array.from({ length: 4 }, () => submit(api, { code, environment: "process" })));
    const printed = ({ events }: { events: { type: string }[] }): boolean =>
      events.some(({ type }) => type === "task.output");
    for (const id of ids) await until(api, id, printed);
    const [victim] = rig.fleet.workers.splice(0, 1);
    if (victim === undefined) throw new Error("two workers");
    const leases = leasesOf(victim.pid as number);
    expect(leases).not.toEqual([]);
    // The positive control: all that is looked for below is there.
    for (const lease of leases) expect(await tracesOf(lease)).toEqual(["area", "owner", "groups", "mount"]);
    await killNow(victim);
    for (const id of ids) expect(await ended(api, id)).toMatchObject({ status: "SUCCEEDED", output: 1 });
    const left = async () => {
      const { stdout } = await run("ps", ["-eo", "args"]);
      const traces = await Promise.all(leases.map(tracesOf));
      return [stdout.split("\n").filter((line) => line.includes(mark)), traces.flat()];
    };
    await expect.poll(left, { timeout: 30_000, interval: 500 }).toEqual([[], []]);
  });
});

/** The leases that a worker has, by what it has written beside them. */
function leasesOf(pid: number): string[] {
  const owners = path.join(FOLDER, "owners");
  return readdirSync(owners).filter((lease) => readText(path.join(owners, lease)).startsWith(`${pid} `));
}

/** What there is of a lease on this machine. */
async function tracesOf(lease: string): Promise<string[]> {
  const { stdout: groups } = await run("find", ["/sys/fs/cgroup", "-type", "d", "-name", lease]);
  const found = {
    area: existsSync(path.join(FOLDER, "areas", lease)),
    owner: existsSync(path.join(FOLDER, "owners", lease)),
    groups: groups !== "",
    mount: readText("/proc/self/mountinfo").includes(lease),
  };
  return Object.entries(found).flatMap(([name, is]) => (is ? [name] : []));
}

/** Empty where it has gone meanwhile. */
function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
