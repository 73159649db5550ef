import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { describeConformance } from "../conformance.ts";
import type { SandboxProvider } from "../port.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker", "runsc") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

/** The docker provider as an environment with this runtime sees it. */
function underGvisor(): SandboxProvider {
  const provider = createDockerProvider(engine);
  return {
    ...provider,
    probe: () => provider.prove?.({ runtime: "runsc" }, {} as never) ?? provider.probe(),
    acquire: (request) => provider.acquire({ ...request, config: { runtime: "runsc" } }),
  };
}

describeNeeding(["docker", "runsc"], "docker with gVisor", () => {
  describeConformance("docker with gVisor", underGvisor);

  const provider = underGvisor();
  afterAll(() => provider.close());

  it("says that its guests have gVisor's kernel, and they have", async () => {
    expect(await provider.probe()).toMatchObject({
      available: true,
      isolation: { level: "gvisor", enforced: { memory: true, pids: true, network: true, readOnlyRoot: true } },
    });
    const { outcome } = await runProgram(provider, {
      code: 'return require("fs").readFileSync("/proc/version", "utf8").split(" ")[2]',
    });
    expect(outcome).toEqual({ kind: "returned", output: '"4.4.0"' });
  });
});
