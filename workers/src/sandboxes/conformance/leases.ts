import { leaseRequest } from "../../../testing/lease-request.ts";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { type Lease, LeaseError, type SandboxProvider } from "../port.ts";
import { returned, type Run } from "./expectations.ts";

export function leases(run: Run): void {
  it("releasing again, or after the end, changes nothing", async () => {
    let held: Lease | undefined;
    const onLease = async (lease: Lease) => void (held = lease);
    expect((await run("return 1", { onLease })).outcome).toMatchObject(returned(1));
    await held?.release();
    await Promise.all([held?.release(), held?.release()]);
  });

  it("a lease released under its running program takes the program with it", async () => {
    const onOutput = (_: string, lease: Lease) => void lease.release();
    const { outcome } = await run('console.log("on"); for (;;) await new Promise((r) => setTimeout(r, 5))', {
      onOutput,
    });
    expect(outcome).toEqual({ kind: "cancelled" });
  });

  it("a lease released before its start runs nothing", async () => {
    const ran = await run('console.log("ran")', { onLease: (lease) => lease.release() });
    expect(ran).toMatchObject({ outcome: { kind: "cancelled" }, output: [] });
  });
}

export function ends(makeProvider: () => SandboxProvider): void {
  it("closing ends what runs as lost, leaves no process behind, and gives no lease any more", async () => {
    const before = new Set(descendants());
    const provider = makeProvider();
    let started: number[] = [];
    const closing = Promise.withResolvers<void>();
    const onOutput = () => {
      started = descendants().filter((pid) => !before.has(pid));
      provider.close().then(closing.resolve, closing.reject);
    };
    const code = 'console.log("on"); for (;;) {}';
    expect((await runProgram(provider, { code, onOutput })).outcome).toMatchObject({ kind: "lost" });
    await closing.promise;
    await expect.poll(() => started.filter((pid) => existsSync(`/proc/${pid}`)), { timeout: 10_000 }).toEqual([]);
    await expect(provider.acquire(leaseRequest())).rejects.toBeInstanceOf(LeaseError);
    await provider.close();
  });

  it("closing a provider that was never used is no error", async () => {
    await makeProvider().close();
  });
}

/** The processes under this one, on Linux; elsewhere none are seen. */
function descendants(): number[] {
  if (!existsSync("/proc/self/stat")) return [];
  const parents = new Map<number, number>();
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // Gone between the listing and the reading.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isBelow(parents.get(pid)));
  return [...parents.keys()].filter((pid) => pid !== process.pid && isBelow(pid));
}
