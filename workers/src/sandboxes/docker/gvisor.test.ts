import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { describeConformance } from "../conformance.ts";
import { describeHostile } from "../hostile.ts";
import type { SandboxProvider } from "../port.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker", "runsc") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

/** The docker provider as an environment with this runtime sees it. */
function underGvisor(): SandboxProvider {
  const provider = createDockerProvider(engine);
  return {
    ...provider,
    probe: () => provider.prove?.({ runtime: "runsc" }, {} as never, null) ?? provider.probe(),
    acquire: (request) => provider.acquire({ ...request, config: { runtime: "runsc" } }),
  };
}

describeNeeding(["docker", "runsc"], "docker with gVisor", () => {
  describeConformance("docker with gVisor", underGvisor);
  describeHostile("docker with gVisor", underGvisor);

  const provider = underGvisor();
  afterAll(() => provider.close());

  it("without cgroups it is refused: nothing would hold its guests' memory and processes", async () => {
    const unbounded = createDockerProvider({ ...engine, gvisor: "runsc-unbounded" });
    afterAll(() => unbounded.close());
    const proof = await unbounded.prove?.({ runtime: "runsc" }, {} as never, null);
    expect(proof).toMatchObject({ available: false, reason: expect.stringMatching(/did not hold.*memory/) as string });
  });

  it("says that its guests have gVisor's kernel, and they have", async () => {
    expect(await provider.probe()).toMatchObject({
      available: true,
      isolation: {
        level: "gvisor",
        enforced: { memory: true, pids: true, cpu: true, network: true, readOnlyRoot: true },
      },
    });
    const { outcome } = await runProgram(provider, {
      code: 'return require("fs").readFileSync("/proc/version", "utf8").split(" ")[2]',
    });
    expect(outcome).toEqual({ kind: "returned", output: '"4.4.0"' });
  });
});
