import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { startGuest } from "../../../testing/driven-guest.ts";
import { leaseRequest } from "../../../testing/lease-request.ts";
import { RUNTIMES } from "./config.ts";
import { connectToEngine, runInside } from "./engine.ts";
import { createDockerProvider } from "./index.ts";
import { leaseName } from "./names.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

describeNeeding(["docker", "runsc"], "a failed task's container", () => {
  const docker = connectToEngine(engine.socket);
  const reaper = createDockerProvider({ ...engine, warm: 0 });
  afterAll(() => reaper.close());

  it.each(RUNTIMES)(
    "can be looked at when its worker has gone, and has nothing of the guest that runs: %s",
    async (runtime) => {
      const provider = createDockerProvider({ ...engine, warm: 0 });
      const lease = leaseRequest({ config: { runtime } });
      const code = `require("fs").writeFileSync("evidence", "it was me");
      require("child_process").spawn("sleep", ["1000"], { detached: true }).unref(); throw new Error("over")`;
      const guest = await startGuest(provider, { code, lease });
      expect(await guest.running.outcome).toMatchObject({ kind: "failed", failure: { code: "GUEST_ERROR" } });
      for await (const _ of guest.lease.outputs({ files: 9, fileBytes: 99, totalBytes: 999, onLeft: () => {} })) break;
      await guest.lease.retain?.();
      await guest.lease.release();
      await provider.close();

      const container = docker.getContainer(leaseName(lease.leaseId));
      const read = (...command: string[]) => runInside(container, command, null).then(String);
      expect(await read("cat", "/work/evidence")).toBe("it was me");
      const names = await read("sh", "-c", "cat /proc/[0-9]*/comm | sort -u");
      expect(names.split("\n").filter((name) => /node|agent/.test(name))).toEqual([]);
      expect(await read("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).not.toContain("sleep 1000");
      expect(await reaper.leftovers()).toContain(lease.leaseId);
      await reaper.destroy(lease.leaseId);
      expect(await reaper.leftovers()).not.toContain(lease.leaseId);
    },
  );

  it("that is dead already is given back instead: its files went with it", async () => {
    const provider = createDockerProvider({ ...engine, warm: 0 });
    afterAll(() => provider.close());
    const lease = leaseRequest();
    const guest = await startGuest(provider, { code: "await tools.a.b({})", lease });
    await guest.nextCall();
    await docker.getContainer(leaseName(lease.leaseId)).kill({ signal: "SIGKILL" });
    await guest.running.outcome;
    await expect(guest.lease.retain?.()).rejects.toThrow(/does not answer/);
    await guest.lease.release();
    expect(await reaper.leftovers()).not.toContain(lease.leaseId);
  });
});
