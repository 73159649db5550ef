import { describeNeeding, startProxy } from "@airlock/shared/testing";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startGuest } from "../../../testing/driven-guest.ts";
import { leaseRequest } from "../../../testing/lease-request.ts";
import { startSshServer, type SshServer, type SshServerOptions } from "../../../testing/ssh-server.ts";
import { returned } from "../conformance/expectations.ts";
import { LeaseError, type SandboxProvider } from "../port.ts";
import { createSshProvider } from "./index.ts";
import type { SshMachine } from "./machines.ts";

const CONFIG = { machine: "builder" };

// Each makes several sandboxes.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

describeNeeding(["sshd", "root", "bwrap"], "the provider ssh, when its machine or the way there fails", () => {
  let server: SshServer;
  beforeAll(async () => {
    server = await startSshServer();
  });
  afterAll(() => server.close());

  const behindProxy = async () => {
    const proxy = await startProxy(`ssh://127.0.0.1:${server.machine.port}`);
    return { proxy, machine: { ...server.machine, port: Number(new URL(proxy.url).port) } };
  };
  const withProvider = async (machine: SshMachine, use: (provider: SandboxProvider) => Promise<void>) => {
    const provider = createSshProvider({ machines: { builder: machine } });
    try {
      await use(provider);
    } finally {
      await provider.close();
    }
  };
  const withServer = async (options: SshServerOptions, use: (own: SshServer) => Promise<void>) => {
    const own = await startSshServer(options);
    try {
      await use(own);
    } finally {
      await own.close();
    }
  };

  it("a machine that shows another host key is not logged in to, and nothing is sent there", async () => {
    await withServer({}, async (other) => {
      const machine = { ...other.machine, hostKey: server.machine.hostKey };
      await withProvider(machine, async (provider) => {
        expect(await provider.probe()).toMatchObject({
          available: false,
          reason: expect.stringMatching(/[Hh]ost key verification failed/),
        });
        await expect(provider.acquire(leaseRequest({ config: CONFIG }))).rejects.toBeInstanceOf(LeaseError);
      });
      expect(readdirSync(other.home)).toEqual([]);
    });
  });

  it("a refused login is said in ssh's own words, and without the key", async () => {
    const machine = { ...server.machine, identityFile: server.strangerKey };
    await withProvider(machine, async (provider) => {
      const result = await provider.probe();
      expect(result).toMatchObject({ available: false, reason: expect.stringMatching(/Permission denied/) });
      const key = (await readFile(server.strangerKey, "utf8")).split("\n")[2] ?? "";
      expect(JSON.stringify(result)).not.toContain(key);
    });
  });

  it("a machine that is not there is unavailable; when it comes, it is used", async () => {
    const { proxy, machine } = await behindProxy();
    await proxy.cut();
    await withProvider(machine, async (provider) => {
      expect(await provider.probe()).toMatchObject({ available: false, reason: expect.stringMatching(/refused/) });
      await proxy.mend();
      const guest = await startGuest(provider, { code: "return 1", lease: { config: CONFIG } });
      expect((await guest.ended()).outcome).toMatchObject(returned(1));
    });
    await proxy.cut();
  });

  it("a connection cut under a program that never looks up is lost, and over there nothing of it goes on", async () => {
    const { proxy, machine } = await behindProxy();
    const leaseId = randomUUID();
    await withProvider(machine, async (provider) => {
      const code = "void tools.x.y({}); for (;;) await null";
      const guest = await startGuest(provider, { code, lease: { leaseId, config: CONFIG } });
      await guest.nextCall();
      expect(groupsOf(leaseId)).not.toEqual([]);
      await proxy.cut();
      expect((await guest.running.outcome).kind).toBe("lost");
      await expect.poll(() => groupsOf(leaseId), { timeout: 30_000 }).toEqual([]);
      await expect(guest.lease.release()).rejects.toThrow(/refused/);
      await proxy.mend();
      expect(await provider.leftovers()).toContain(leaseId);
      await guest.ended();
      expect(await provider.leftovers()).not.toContain(leaseId);
    });
    await proxy.cut();
  });

  it("a lease of a lost worker is found and destroyed by another, while its program runs", async () => {
    const leaseId = randomUUID();
    await withProvider(server.machine, async (provider) => {
      const guest = await startGuest(provider, { code: "await tools.x.y({})", lease: { leaseId, config: CONFIG } });
      await guest.nextCall();
      await withProvider(server.machine, async (other) => {
        expect(await other.leftovers()).toContain(leaseId);
        await other.destroy(leaseId);
        await other.destroy(leaseId);
        expect(await other.leftovers()).not.toContain(leaseId);
      });
      expect(groupsOf(leaseId)).toEqual([]);
      expect(existsSync(path.join(server.home, ".airlock", "leases", leaseId))).toBe(false);
      await guest.ended();
    });
  });

  it("what a login shell prints is neither output nor junk", async () => {
    await withServer({ greeting: "welcome to builder" }, async (chatty) => {
      await withProvider(chatty.machine, async (provider) => {
        const guest = await startGuest(provider, { code: 'console.log("mine"); return 1', lease: { config: CONFIG } });
        expect(await guest.ended()).toMatchObject({ outcome: returned(1), stdout: "mine\n", stderr: "" });
      });
    });
  });

  it("a machine without bubblewrap runs nothing, and says what it lacks", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "airlock-no-bwrap-"));
    const bin = path.join(folder, "bin");
    await mkdir(bin);
    for (const name of readdirSync("/usr/bin").filter((each) => each !== "bwrap")) {
      await symlink(path.join("/usr/bin", name), path.join(bin, name));
    }
    try {
      await withServer({ path: bin }, async (bare) => {
        await withProvider(bare.machine, async (provider) => {
          expect(await provider.probe()).toMatchObject({
            available: false,
            reason: expect.stringMatching(/the machine has no bwrap/),
          });
          const lease = provider.acquire(leaseRequest({ config: CONFIG }));
          await expect(lease).rejects.toThrow(/the machine has no bwrap/);
        });
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("a login without rights runs a program only where the environment accepts what cannot be bounded", async () => {
    await withServer({ uid: 54_321 }, async (plain) => {
      await withProvider(plain.machine, async (provider) => {
        expect(await provider.probe()).toMatchObject({
          available: true,
          isolation: { enforced: { memory: false, pids: false, network: true } },
        });
        const refused = provider.acquire(leaseRequest({ config: CONFIG }));
        await expect(refused).rejects.toThrow(/does not enforce memory and pids/);
        const config = { ...CONFIG, acceptUnenforced: ["memory", "pids"] };
        const guest = await startGuest(provider, { code: "return [process.getuid()]", lease: { config } });
        expect((await guest.ended()).outcome).toMatchObject(returned([65_534]));
      });
    });
  });
});

/** The cgroups of a lease, of either version; there are none when its last process has ended. */
function groupsOf(leaseId: string): string[] {
  const root = "/sys/fs/cgroup";
  const places = [root, `${root}/memory`, `${root}/pids`, `${root}/cpu`];
  return places.map((place) => `${place}/airlock-${leaseId}`).filter((group) => existsSync(group));
}
