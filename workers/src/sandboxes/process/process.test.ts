import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { startGuest } from "../../../testing/driven-guest.ts";
import { runProgram } from "../../../testing/run-program.ts";
import { describeConformance } from "../conformance.ts";
import { describeHostile } from "../hostile.ts";
import { createProcessProvider } from "./index.ts";
import { seccompFilter } from "./seccomp.ts";

describeNeeding(["bwrap", "root"], "process", () => {
  describeConformance("process", () => createProcessProvider());
  describeHostile("process", () => createProcessProvider());
});

describeNeeding(["bwrap", "root"], "the walls of a process", () => {
  const provider = createProcessProvider();
  afterAll(() => provider.close());

  it("calls that the filter denies fail, whatever namespace a program would make for them", async () => {
    const probe = `import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    return -ctypes.get_errno() if libc.syscall(*args) == -1 else 0
x64 = os.uname().machine == "x86_64"
print(call(272 if x64 else 97, 0x10000000), call(165 if x64 else 40, 0, b"/tmp", b"tmpfs", 0, 0), call(425, 1, 0),
      call(41 if x64 else 198, 40, 1, 0), call(435, 0, 0), call(56 if x64 else 220, 0x10000011, 0, 0, 0, 0))`;
    const code = `import { spawnSync } from "node:child_process";
      return spawnSync("python3", ["-c", ${JSON.stringify(probe)}]).stdout.toString()`;
    const { outcome } = await runProgram(provider, { code });
    expect(outcome).toMatchObject({ kind: "returned", output: JSON.stringify("-1 -1 -1 -97 -38 -1\n") });
  });

  it("what it holds is gone when it is released, and what another worker left is found and destroyed", async () => {
    const guest = await startGuest(provider, { code: "await tools.x.a({})" });
    await guest.nextCall();
    const [leaseId] = await provider.leftovers();
    const other = createProcessProvider();
    try {
      expect(await other.leftovers()).toContain(leaseId);
      await other.destroy(leaseId as string);
      expect(await other.leftovers()).not.toContain(leaseId);
    } finally {
      await other.close();
    }
    expect((await guest.ended()).outcome).toMatchObject({ kind: expect.stringMatching(/lost|failed/) as string });
  });
});

it("says how to get bubblewrap where there is none", async () => {
  const provider = createProcessProvider({ bubblewrap: "/nowhere/bwrap" });
  const probed = await provider.probe();
  await provider.close();
  expect(probed).toMatchObject({ available: false, reason: expect.stringMatching(/bubblewrap|root|Linux/) as string });
});

it("has a filter for both machines and for no other", () => {
  expect([seccompFilter("x64")?.length, seccompFilter("arm64")?.length].every((bytes) => (bytes ?? 1) % 8 === 0)).toBe(
    true,
  );
  expect(seccompFilter("mips")).toBeNull();
});
