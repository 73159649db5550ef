import { describeNeeding } from "@airlock/shared/testing";
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { startGuest } from "../../../testing/driven-guest.ts";
import { leaseRequest } from "../../../testing/lease-request.ts";
import { DOUBLE_CREDENTIALS, startVercelDouble, type VercelDouble } from "../../../testing/vercel-double/index.ts";
import { failed, returned } from "../conformance/expectations.ts";
import { LeaseError, type SandboxProvider } from "../port.ts";
import { createVercelProvider } from "./index.ts";

/** A little of everything that goes over the channel, both ways. */
const TALK = `
  const seen = [];
  for (let i = 0; i < 5; i++) { console.log("line " + i); seen.push(await tools.x.next({ i })); }
  console.log("end");
  return seen`;
const TOLD = {
  outcome: returned([0, 1, 2, 3, 4]),
  stdout: "line 0\nline 1\nline 2\nline 3\nline 4\nend\n",
  stderr: "",
};

// Each makes several sandboxes.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

describeNeeding(["root", "bwrap"], "the provider vercel, when its API fails", () => {
  let double: VercelDouble;
  let provider: SandboxProvider;
  const config = { timeoutMs: 300_000 };

  beforeAll(async () => {
    double = await startVercelDouble();
    provider = createVercelProvider({ credentials: DOUBLE_CREDENTIALS, fetch: double.fetch });
  });
  afterEach(() => double.faults.clear());
  afterAll(async () => {
    await provider.close();
    await double.close();
  });

  const talk = async () => {
    const guest = await startGuest(provider, {
      code: TALK,
      lease: { config },
      onCall: (call, guest) => guest.give(call, (JSON.parse(call.input) as { i: number }).i),
    });
    return guest.ended();
  };
  const only = () => {
    const [sandbox] = double.sandboxes.values();
    if (sandbox === undefined) throw new Error("there is no sandbox");
    return sandbox;
  };

  it.each([
    ["429 with a time to wait", { status: 429, retryAfter: 1 }],
    ["500", { status: 500 }],
    ["503 after the files were written", { status: 503, afterwards: true }],
  ])("writes that fail with %s are made again, and no line is lost or taken twice", async (_, fault) => {
    double.faults.add({ method: "POST", path: /\/fs\/write$/, times: 4, ...fault });
    expect(await talk()).toMatchObject(TOLD);
  });

  it.each([
    ["is cut as if it were complete", "clean"],
    ["is reset", "broken"],
    ["ends with the vendor's own error", "error"],
  ] as const)("a log that %s, again and again, is read on without loss or repetition", async (_, end) => {
    for (const afterBytes of [1, 30, 90, 91, 200]) double.faults.cutLogs({ afterBytes, times: 1, end });
    expect(await talk()).toMatchObject(TOLD);
  });

  it("a log that cannot be asked for at first is asked for again", async () => {
    double.faults.add({ method: "GET", path: /\/logs$/, times: 4, status: 502 });
    expect(await talk()).toMatchObject(TOLD);
  });

  it("a log that tells another story when it is read again ends the run as lost, not with a mixture", async () => {
    double.faults.forgetfulLogs = true;
    double.faults.cutLogs({ afterBytes: 60, times: 1, end: "broken" });
    expect(await talk()).toMatchObject({ outcome: { kind: "lost", reason: expect.stringMatching(/otherwise/) } });
  });

  it("a line of which only a part is there yet is not taken", async () => {
    double.faults.slowWritesMs = 100;
    const input = JSON.stringify("x".repeat(10_000));
    const guest = await startGuest(provider, { code: "return input.length", input, lease: { config } });
    expect((await guest.ended()).outcome).toMatchObject(returned(10_000));
  });

  it("a command whose start got no clear answer is not started again: its sandbox is thrown away", async () => {
    const guest = await startGuest(provider, {
      code: "return 1",
      lease: { config },
      onLease: async () =>
        double.faults.add({ method: "POST", path: /\/cmd$/, times: 1, status: 500, afterwards: true }),
    });
    const before = only().commands.size;
    expect((await guest.running.outcome).kind).toBe("lost");
    expect(only().commands.size - before).toBe(1);
    await guest.ended();
    expect(double.sandboxes.size).toBe(0);
  });

  it("a sandbox that goes away under its program is lost, not failed", async () => {
    const guest = await startGuest(provider, { code: "await tools.x.y({})", lease: { config } });
    await guest.nextCall();
    await only().stop();
    expect((await guest.ended()).outcome).toMatchObject({ kind: "lost" });
  });

  it("a sandbox that reached its own time limit, where the plan allows no more, is TIMEOUT", async () => {
    double.setMaxTimeout(60_000);
    const shortest = createVercelProvider({ credentials: DOUBLE_CREDENTIALS, fetch: double.fetch });
    const realNow = Date.now;
    try {
      const guest = await startGuest(shortest, {
        code: "await tools.x.y({})",
        limits: { timeoutMs: 3600_000 },
        lease: { config: { timeoutMs: 60_000 } },
      });
      await guest.nextCall();
      Date.now = () => realNow() + 60_000;
      await only().stop();
      expect((await guest.ended()).outcome).toMatchObject(failed("TIMEOUT", /plan/));
    } finally {
      Date.now = realNow;
      double.setMaxTimeout(24 * 3600_000);
      await shortest.close();
    }
  });

  it("a program that may run longer than its sandbox lives has its sandbox live longer", async () => {
    const guest = await startGuest(provider, {
      code: "await tools.x.y({})",
      limits: { timeoutMs: 3600_000 },
      lease: { config: { timeoutMs: 60_000 } },
    });
    await guest.nextCall();
    expect(only().timeout).toBeGreaterThanOrEqual(3600_000 + 60_000);
    guest.give({ id: 1 });
    await guest.ended();
  });

  it("a sandbox that was made although the vendor said otherwise is not left behind", async () => {
    double.faults.add({ method: "POST", path: /\/v3\/sandboxes$/, times: 3, status: 500, afterwards: true });
    await expect(provider.acquire(leaseRequest({ config }))).rejects.toBeInstanceOf(LeaseError);
    expect(double.sandboxes.size).toBe(0);
  });

  it("a release that fails says so, and the lease is found and destroyed later, by any worker", async () => {
    const leaseId = randomUUID();
    const lease = await provider.acquire(leaseRequest({ leaseId, config }));
    double.faults.add({ method: "POST", path: /\/stop$/, times: 15, status: 500 });
    await expect(lease.release()).rejects.toThrow(/may still exist/);
    double.faults.clear();
    const other = createVercelProvider({ credentials: DOUBLE_CREDENTIALS, fetch: double.fetch });
    expect(await other.leftovers()).toEqual([leaseId]);
    await other.destroy(leaseId);
    await other.destroy(leaseId);
    expect(await other.leftovers()).toEqual([]);
    await lease.release();
    await other.close();
  });

  it("leftovers are found on every page, and sandboxes of others are none", async () => {
    const ids = Array.from({ length: 12 }, () => randomUUID());
    const leases = [];
    for (const leaseId of ids) leases.push(await provider.acquire(leaseRequest({ leaseId, config })));
    const others = { name: "airlock-of-somebody-else", tags: { airlock: "no" } };
    const request = { method: "POST", headers: authorized(), body: JSON.stringify(others) };
    await double.fetch("https://vercel.com/api/v3/sandboxes", request);
    expect((await provider.leftovers()).toSorted()).toEqual(ids.toSorted());
    await Promise.all(leases.map((lease) => lease.release()));
    await double.fetch(`https://vercel.com/api/v2/sandboxes/${others.name}`, {
      method: "DELETE",
      headers: authorized(),
    });
    expect(double.sandboxes.size).toBe(0);
  });

  it("asks for a one-shot machine without a network, and puts no credential into it", async () => {
    const from = double.bodies.length;
    const code = 'return JSON.stringify([process.env, require("fs").readFileSync("/proc/self/environ", "latin1")])';
    const guest = await startGuest(provider, { code, lease: { config } });
    const { outcome } = await guest.ended();
    expect(JSON.stringify([outcome, double.bodies.slice(from)])).not.toContain(DOUBLE_CREDENTIALS.token);
    expect(JSON.parse(double.bodies[from] ?? "")).toMatchObject({
      persistent: false,
      networkPolicy: { mode: "deny-all" },
      tags: { airlock: "lease" },
    });
    expect(JSON.parse(double.bodies[from] ?? "")).not.toHaveProperty("env");
  });

  it("is unavailable where the credentials are refused, and says why without showing them", async () => {
    const credentials = { ...DOUBLE_CREDENTIALS, token: "another-token" };
    const outsider = createVercelProvider({ credentials, fetch: double.fetch });
    const result = await outsider.probe();
    expect(result).toMatchObject({ available: false, reason: expect.stringMatching(/403/) });
    expect(JSON.stringify(result)).not.toContain("another-token");
  });
});

function authorized(): Record<string, string> {
  return { authorization: `Bearer ${DOUBLE_CREDENTIALS.token}`, "content-type": "application/json" };
}
