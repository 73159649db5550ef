import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { startGuest } from "../../../testing/driven-guest.ts";
import { leaseRequest } from "../../../testing/lease-request.ts";
import { runProgram } from "../../../testing/run-program.ts";
import { describeConformance } from "../conformance.ts";
import { loadProviders } from "../load-providers.ts";
import { createFakeProvider } from "./index.ts";

describeConformance("fake", () => createFakeProvider());

describe("the faults of fake", () => {
  const provider = createFakeProvider();
  afterAll(() => provider.close());

  it("no lease: says what it was told to say", async () => {
    provider.fault = { kind: "no lease", reason: "the machine is full" };
    await expect(provider.acquire(leaseRequest())).rejects.toThrow("the machine is full");
  });

  it("gone: its sandbox is lost after so many calls, and the program is not blamed", async () => {
    provider.fault = { kind: "gone", afterCalls: 2 };
    const guest = await startGuest(provider, {
      code: "for (;;) await tools.x.a({})",
      onCall: (call, self) => self.give(call),
    });
    expect((await guest.ended()).outcome).toMatchObject({ kind: "lost" });
    expect(guest.calls).toHaveLength(2);
  });

  it("release fails: the sandbox is found among the leftovers, and destroyed", async () => {
    provider.fault = { kind: "release fails" };
    const request = leaseRequest();
    const lease = await provider.acquire(request);
    await expect(lease.release()).rejects.toThrow();
    expect(await provider.leftovers()).toContain(request.leaseId);
    await provider.destroy(request.leaseId);
    expect(await provider.leftovers()).not.toContain(request.leaseId);
  });
});

describe("a provider from outside", () => {
  it("is made by the function that a file far from here exports", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "airlock-outside-"));
    try {
      const text = `export default ({ createFakeProvider }) => Object.assign(createFakeProvider(), { name: "mine" })`;
      await writeFile(path.join(folder, "mine.mjs"), text);
      const [provider] = await loadProviders(["./mine.mjs"], folder);
      expect(provider?.name).toBe("mine");
      expect((await runProgram(provider as NonNullable<typeof provider>, { code: "return 1" })).outcome.kind).toBe(
        "returned",
      );
      await provider?.close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each(["export default 1", "export const a = 1"])("what is none is refused, and named: %s", async (text) => {
    const folder = await mkdtemp(path.join(tmpdir(), "airlock-outside-"));
    try {
      await writeFile(path.join(folder, "bad.mjs"), text);
      await expect(loadProviders(["./bad.mjs"], folder)).rejects.toThrow(/bad\.mjs.*no provider/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
