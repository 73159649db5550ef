import path from "node:path";
import type { Cgroups } from "./cgroups.ts";
import type { Ownership } from "./ownership.ts";
import { endProcessesOf } from "./processes.ts";
import { listWorkAreas, removeWorkArea, userOf } from "./work-area.ts";

export interface Log {
  warn(fields: object, message: string): void;
}

/** What there is of leases below one folder, whichever worker made them. */
export interface Leftovers {
  list(): Promise<string[]>;
  /** Throws where something may be left. */
  destroy(leaseId: string): Promise<void>;
  /** Destroys what no worker holds. One that resists is told of once, is tried again the next time, and stops no other. */
  sweep(): Promise<void>;
}

export interface LeftoversParts {
  readonly areas: string;
  readonly owners: Ownership;
  readonly cgroups: Cgroups | null;
  readonly log: Log | undefined;
}

export function createLeftovers({ areas, owners, cgroups, log }: LeftoversParts): Leftovers {
  const told = new Set<string>();
  let sweeping: Promise<void> | null = null;

  const list = async () => [...new Set([...(await listWorkAreas(areas)), ...((await cgroups?.list()) ?? [])])];
  const destroy = async (leaseId: string) => {
    const area = path.join(areas, leaseId);
    const user = cgroups === null ? await userOf(area) : null;
    await cgroups?.destroy(leaseId);
    if (user !== null) await endProcessesOf(user);
    await removeWorkArea(area);
    await owners.drop(leaseId);
    told.delete(leaseId);
  };
  const look = async (leaseId: string) => {
    try {
      if (!(await owners.isHeld(leaseId))) await destroy(leaseId);
    } catch (error) {
      if (!told.has(leaseId))
        log?.warn({ err: error, lease: leaseId }, "what is left of a lease cannot be removed yet");
      told.add(leaseId);
    }
  };
  const sweepOnce = async () => {
    try {
      await Promise.all((await list()).map(look));
    } catch (error) {
      log?.warn({ err: error }, "what workers left behind cannot be looked for");
    }
  };
  return { list, destroy, sweep: () => (sweeping ??= sweepOnce().finally(() => (sweeping = null))) };
}
