import { randomUUID } from "node:crypto";
import type { Language } from "@airlock/shared/domain";
import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, describe, expect, it } from "vitest";
import { type DrivenGuest, startGuest } from "../../../testing/driven-guest.ts";
import { leaseRequest } from "../../../testing/lease-request.ts";
import type { GuestOutcome, Lease, LeaseRequest } from "../port.ts";
import { RUNTIMES } from "./config.ts";
import { connectToEngine, runInside } from "./engine.ts";
import { createDockerProvider } from "./index.ts";
import { leaseName } from "./names.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };
const BOUNDS = { files: 99, fileBytes: 999, totalBytes: 9_999, onLeft: () => {} };

describeNeeding(["docker", "runsc"], "a container that is used again", () => {
  const docker = connectToEngine(engine.socket);
  const provider = createDockerProvider({ ...engine, warm: 0 });
  afterAll(() => provider.close());

  /** Runs a program to its end: in a container of its own, or in what another lease has left. */
  async function run(
    code: string,
    { on, language = "JAVASCRIPT", ...rest }: { on?: Lease; language?: Language } & Partial<LeaseRequest> = {},
  ): Promise<{ guest: DrivenGuest; outcome: GuestOutcome; changed: string[] }> {
    const lease = leaseRequest({ language, ...rest });
    const acquire = (request: LeaseRequest) => on?.reuse?.(request) ?? provider.acquire(request);
    const guest = await startGuest({ ...provider, acquire }, { code, language, lease });
    const outcome = await guest.running.outcome;
    const changed: string[] = [];
    for await (const { path } of guest.lease.outputs(BOUNDS)) changed.push(path);
    return { guest, outcome, changed };
  }

  describe.each(RUNTIMES)("%s", (runtime) => {
    it("has the files of the one before, and none of its processes; what was there is no output", async () => {
      const config = { runtime };
      const first = await run(
        `const { spawn } = require("child_process"); const fs = require("fs");
        fs.writeFileSync("kept", "a"); fs.writeFileSync("/tmp/too", "b");
        spawn("sleep", ["1000"], { detached: true, stdio: "ignore" }).unref();
        spawn("sh", ["-c", "trap '' TERM HUP; setsid sh -c 'while :; do sleep 1; done' & wait"], { detached: true }).unref();
        return 1`,
        { config },
      );
      expect(first).toMatchObject({ outcome: { kind: "returned" }, changed: ["kept"] });
      await first.guest.lease.rest?.();
      const leaseId = randomUUID();
      const second = await run(
        `const fs = require("fs"); fs.writeFileSync("new", "c");
        const names = fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name));
        const commands = names.map((pid) => { try { return fs.readFileSync("/proc/" + pid + "/cmdline", "latin1"); } catch { return ""; } });
        return [fs.readFileSync("kept", "utf8"), fs.readFileSync("/tmp/too", "utf8"), fs.readFileSync("given", "utf8"),
          commands.filter((line) => line.includes("sleep") && !line.includes("boot"))]`,
        { on: first.guest.lease, config, leaseId, files: [{ path: "given", content: Buffer.from("d") }] },
      );
      expect(second.outcome).toMatchObject({ kind: "returned", output: '["a","b","d",[]]' });
      expect(second.changed).toEqual(["new"]);
      expect(await provider.leftovers()).toContain(leaseId);
      await first.guest.lease.release();
      expect(await provider.leftovers()).toContain(leaseId);
      await second.guest.lease.release();
      expect(await provider.leftovers()).not.toContain(leaseId);
    });

    it("takes a guest in another language, and one whose predecessor spoiled the agent's folder", async () => {
      const config = { runtime };
      const spoil = `const fs = require("fs");
        for (const name of fs.readdirSync("/agent")) fs.rmSync("/agent/" + name);
        for (let i = 0; i < 99; i++) try { fs.mkdirSync("/agent/agent.py" + (i || "")); } catch { break; }`;
      const first = await run(spoil, { config });
      await first.guest.lease.rest?.();
      const second = await run("print('hello')\nreturn 7", { on: first.guest.lease, config, language: "PYTHON" });
      expect(second.outcome).toMatchObject({ kind: "returned", output: "7" });
      await second.guest.lease.rest?.();
      const third = await run("return 8", { on: second.guest.lease, config });
      expect(third.outcome).toMatchObject({ kind: "returned", output: "8" });
      await third.guest.lease.release();
    });
  });

  it("is none where a process of somebody's still runs in it: that is measured", async () => {
    const leaseId = randomUUID();
    const { guest } = await run("return 1", { leaseId });
    const container = docker.getContainer(leaseName(leaseId));
    const left = runInside(container, ["sleep", "1000"], null).catch(() => "ended with the container");
    const seen = () => runInside(container, ["sh", "-c", "cat /proc/[0-9]*/cmdline"], null).then(String);
    await expect.poll(seen, { timeout: 30_000 }).toContain("1000");
    await expect(guest.lease.rest?.()).rejects.toThrow("1 processes of the guest still run");
    await guest.lease.release();
    await left;
  });

  it("is none where the files of the next one do not go in: both leases can be given back", async () => {
    const first = await run('require("fs").mkdirSync("given/in/the/way", { recursive: true })');
    await first.guest.lease.rest?.();
    const leaseId = randomUUID();
    const again = first.guest.lease.reuse?.(
      leaseRequest({ leaseId, files: [{ path: "given", content: Buffer.from("d") }] }),
    );
    await expect(again).rejects.toMatchObject({ name: "LeaseError" });
    await first.guest.lease.release();
    expect(await provider.leftovers()).not.toContain(leaseId);
  });

  it("is none after a guest that the kernel killed", async () => {
    const hungry = await run("const all = []; for (;;) all.push(Buffer.alloc(2 ** 24, 1))");
    expect(hungry.outcome).toMatchObject({ failure: { code: "OUT_OF_MEMORY" } });
    await expect(hungry.guest.lease.rest?.()).rejects.toThrow();
    await hungry.guest.lease.release();
  });
});
