import { describeNeeding } from "@airlock/shared/testing";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { leaseRequest } from "../../../testing/lease-request.ts";
import { runProgram } from "../../../testing/run-program.ts";
import { failed, returned } from "../conformance/expectations.ts";
import { createProcessProvider } from "./index.ts";

const LIMITS = { memoryBytes: 128 * 1024 * 1024, pids: 64, cpus: 0.5, diskBytes: 32 * 1024 * 1024, files: 500 };

describeNeeding(["bwrap", "root"], "what is measured of processes", () => {
  const provider = createProcessProvider();
  afterAll(() => provider.close());

  it("every wall that is reported was pushed against", async () => {
    expect(await provider.probe()).toMatchObject({
      available: true,
      isolation: {
        enforced: {
          ...{ memory: true, pids: true, cpu: true, time: true, environment: true, user: true, userNamespaces: true },
          ...{ capabilities: true, seccomp: true, disk: true, files: true, filesystem: true, network: true },
        },
      },
    });
  });

  it.each([
    ["memory", { memoryBytes: Number.NaN }],
    ["processes", { pids: 0.5 }],
    ["processor time", { cpus: Number.NaN }],
  ])("a lease whose bound of %s cannot be written is refused, and nothing of it is left", async (_, limits) => {
    const asked = provider.acquire(leaseRequest({ limits: { ...LIMITS, ...limits } }));
    await expect(asked).rejects.toThrow(/the bound .* cannot be set/);
    await expect.poll(() => provider.leftovers()).toEqual([]);
  });
});

describeNeeding(["bwrap", "root"], "processes on a machine without control groups", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "airlock-process-test-"));
  const kernel = path.join(folder, "kernel");
  const provider = createProcessProvider({ folder, kernel });
  const accepting = { config: { acceptUnenforced: ["memory", "pids"] }, limits: LIMITS };
  afterAll(async () => {
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("an environment is refused that does not accept in so many words what cannot be bounded", async () => {
    expect(await provider.probe()).toMatchObject({
      available: true,
      isolation: { enforced: { memory: false, pids: false, cpu: false, network: true, cgroups: "none" } },
    });
    const prove = (config: unknown) => provider.prove?.(provider.config.parse(config), LIMITS, null);
    expect(await prove({})).toEqual({
      available: false,
      reason: "this machine does not enforce memory and pids",
    });
    expect(await prove({ acceptUnenforced: ["memory"] })).toEqual({
      available: false,
      reason: "this machine does not enforce pids",
    });
    await expect(provider.acquire(leaseRequest())).rejects.toThrow(/does not enforce memory and pids/);
    expect(await prove(accepting.config)).toMatchObject({
      available: true,
      isolation: { enforced: { memory: false } },
    });
  });

  it("where it is accepted programs run behind all other walls, and their processes end with them", async () => {
    const mark = `mark${process.pid}${Date.now()}`;
    const code = `const { spawn } = require("child_process");
      for (let i = 0; i < 20; i++) spawn("sleep", ["600"], { argv0: "${mark}", detached: true, stdio: "ignore" });
      return process.getuid()`;
    expect((await runProgram(provider, { code, lease: accepting })).outcome).toMatchObject(returned(65_534));
    const loop = await runProgram(provider, { code: "for (;;) {}", lease: accepting, limits: { timeoutMs: 300 } });
    expect(loop.outcome).toMatchObject(failed("TIMEOUT"));
    expect(await provider.leftovers()).toEqual([]);
    expect(execFileSync("ps", ["-eo", "args"]).toString()).not.toContain(mark);
  });
});
