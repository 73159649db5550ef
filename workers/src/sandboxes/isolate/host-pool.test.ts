import { leaseRequest } from "../../../testing/lease-request.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { makeJunkBubblewrap } from "../../../testing/fake-bubblewrap.ts";
import { LeaseError } from "../port.ts";
import { chooseConfinement } from "./confinement.ts";
import { findHostFiles } from "./host-files.ts";
import { HostPool } from "./host-pool.ts";
import type { HostProcess } from "./host-process.ts";
import { createIsolateProvider } from "./index.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function openPool(hosts: number): Promise<HostPool> {
  const files = findHostFiles();
  const pool = new HostPool(files, await chooseConfinement(files.readable, "/usr/bin/bwrap"), hosts, 4);
  cleanups.push(() => pool.close());
  return pool;
}

/** Both hosts are up, and each is held once. */
async function takeBoth(pool: HostPool): Promise<void> {
  const one = await pool.take();
  for (;;) {
    const host = await pool.take();
    if (host !== one) return;
    pool.give(host);
    await sleep(20);
  }
}

describe("a pool of two hosts", () => {
  it("gives the one with fewer leases, whether or not a guest runs on them", async () => {
    const pool = await openPool(2);
    await takeBoth(pool);
    const taken = await Promise.all(Array.from({ length: 6 }, () => pool.take()));
    const counts = [...new Set(taken)].map((host) => taken.filter((each) => each === host).length);
    expect(counts).toEqual([3, 3]);
    const [first] = taken as [HostProcess];
    for (const host of taken) if (host === first) pool.give(host);
    expect(await Promise.all([pool.take(), pool.take(), pool.take()])).toEqual([first, first, first]);
  });
});

describe("a provider that is closed while somebody waits for a host", () => {
  it("turns them away at once", async () => {
    const fake = await makeJunkBubblewrap("silence");
    cleanups.push(() => fake.remove());
    const provider = createIsolateProvider({ bubblewrap: fake.path });
    const waiting = [1, 2].map(() => provider.acquire(leaseRequest()));
    const ends = Promise.allSettled(waiting);
    await provider.hostPids();
    const closing = provider.close();
    for (const end of await ends)
      expect(end).toMatchObject({ status: "rejected", reason: expect.any(LeaseError) as object });
    await closing;
  });

  it("turns them away before it has so much as looked for its walls", async () => {
    const provider = createIsolateProvider();
    const waiting = provider.acquire(leaseRequest());
    const refused = expect(waiting).rejects.toBeInstanceOf(LeaseError);
    await provider.close();
    await refused;
    await expect(provider.acquire(leaseRequest())).rejects.toBeInstanceOf(LeaseError);
  });
});
