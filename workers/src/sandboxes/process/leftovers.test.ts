import { describeNeeding } from "@airlock/shared/testing";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startGuest } from "../../../testing/driven-guest.ts";
import { runProgram } from "../../../testing/run-program.ts";
import { returned } from "../conformance/expectations.ts";
import { createProcessProvider } from "./index.ts";

const SOON = { timeout: 25_000, interval: 250 };

describeNeeding(["bwrap", "root"], "what a worker of processes left behind", () => {
  const folders: string[] = [];
  const holders: ChildProcess[] = [];
  const make = () => {
    folders.push(mkdtempSync(path.join(tmpdir(), "airlock-process-test-")));
    return folders.at(-1) as string;
  };
  /** A process of nobody's sandbox that keeps a mount busy. */
  const holdUp = (folder: string) => {
    const holder = spawn("sleep", ["600"], { cwd: folder, stdio: "ignore" });
    holders.push(holder);
    return () => {
      holder.kill("SIGKILL");
    };
  };
  let folder: string;
  beforeEach(() => {
    folder = make();
  });
  afterEach(() => {
    for (const holder of holders.splice(0)) holder.kill("SIGKILL");
    for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true, maxRetries: 10 });
  });

  it("one that cannot be removed holds up neither the start nor the others, and goes when it can", async () => {
    const ids = Array.from({ length: 6 }, () => randomUUID()).toSorted();
    const areas = ids.map((id) => path.join(folder, "areas", id));
    for (const area of areas) mkdirSync(area, { recursive: true });
    const stuck = [areas[0], areas[3]] as [string, string];
    for (const area of stuck) execFileSync("/usr/bin/mount", ["-t", "tmpfs", "airlock", area]);
    const letGo = stuck.map((area) => holdUp(area));
    const provider = createProcessProvider({ folder });
    try {
      expect((await runProgram(provider, { code: "return 7" })).outcome).toMatchObject(returned(7));
      await expect.poll(() => areas.filter((area) => existsSync(area)), SOON).toEqual(stuck);
      for (const release of letGo) release();
      await expect.poll(() => provider.leftovers(), SOON).toEqual([]);
    } finally {
      await provider.close();
    }
  });

  it("a release that failed is tried again while its worker lives", async () => {
    const provider = createProcessProvider({ folder });
    try {
      const leaseId = randomUUID();
      const guest = await startGuest(provider, { code: "return 7", lease: { leaseId } });
      await guest.running.outcome;
      const letGo = holdUp(path.join(folder, "areas", leaseId));
      await expect(guest.lease.release()).rejects.toThrow(/EBUSY/);
      expect(await provider.leftovers()).toEqual([leaseId]);
      letGo();
      await expect.poll(() => provider.leftovers(), SOON).toEqual([]);
    } finally {
      await provider.close();
    }
  });

  it("a start that failed is tried again", async () => {
    const provider = createProcessProvider({ folder: path.join(folder, "below") });
    try {
      // A file where the provider's folder is to be.
      execFileSync("touch", [path.join(folder, "below")]);
      expect(await provider.probe()).toMatchObject({ available: false });
      rmSync(path.join(folder, "below"));
      execFileSync("chmod", ["711", folder]);
      expect((await runProgram(provider, { code: "return 7" })).outcome).toMatchObject(returned(7));
    } finally {
      await provider.close();
    }
  });

  it("a worker whose folder is another leaves the guests of its neighbour alone", async () => {
    const [one, other] = [folder, make()].map((each) => createProcessProvider({ folder: each }));
    if (one === undefined || other === undefined) throw new Error("two providers");
    try {
      const guest = await startGuest(one, { code: "await tools.x.a({}); return 7" });
      const call = await guest.nextCall();
      expect(await other.leftovers()).toEqual([]);
      expect((await runProgram(other, { code: "return 8" })).outcome).toMatchObject(returned(8));
      guest.give(call);
      expect((await guest.ended()).outcome).toMatchObject(returned(7));
    } finally {
      await Promise.all([one.close(), other.close()]);
    }
  });

  it("processes that hardly get any time are all ended within the time that a release takes", async () => {
    const provider = createProcessProvider({ folder });
    try {
      const code = `const { spawn } = require("child_process");
        for (let i = 0; i < 40; i++) spawn("sh", ["-c", "while :; do :; done"], { detached: true, stdio: "ignore" });
        console.log("on"); for (;;) {}`;
      const limits = { memoryBytes: 256 * 1024 * 1024, pids: 64, cpus: 0.03, diskBytes: 16 * 1024 * 1024, files: 100 };
      const guest = await startGuest(provider, { code, lease: { limits }, limits: { timeoutMs: 8000 } });
      expect((await guest.ended()).outcome).toMatchObject({ kind: "failed", failure: { code: "TIMEOUT" } });
      expect(await provider.leftovers()).toEqual([]);
    } finally {
      await provider.close();
    }
  });
});
