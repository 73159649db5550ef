import { randomInt } from "node:crypto";
import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { type Lease, LeaseError, type LeaseRequest, type ProviderCapabilities, type SandboxProvider } from "../port.ts";
import { type Cgroups, findCgroups } from "./cgroups.ts";
import { languagesHere } from "./command.ts";
import { ProcessLease } from "./lease.ts";
import { createOwnership, type Ownership } from "./ownership.ts";
import { probeProcess, whyNot } from "./probe.ts";
import { makeRoot, type SandboxRoot, touchRoot } from "./root.ts";
import { seccompFilter } from "./seccomp.ts";
import { listWorkAreas, makeWorkArea, removeWorkArea } from "./work-area.ts";

export interface ProcessConfig {
  readonly bubblewrap?: string;
  /** Where sandboxes have their folders, and the programs that they see. */
  readonly folder?: string;
}

const CAPABILITIES: ProviderCapabilities = {
  languages: languagesHere(),
  keptBy: "replay",
  workArea: true,
  outlivesWorker: false,
};
/** Users that no account of the machine has. */
const USERS = { from: 0x6a00_0000, to: 0x6b00_0000 } as const;
const SWEEP_MS = 5_000;

interface Started {
  readonly root: SandboxRoot;
  readonly filter: string;
  readonly cgroups: Cgroups;
}

export function createProcessProvider(config: ProcessConfig = {}): SandboxProvider {
  const { bubblewrap = "/usr/bin/bwrap", folder = path.join(tmpdir(), "airlock-process") } = config;
  const areas = path.join(folder, "areas");
  const owners = createOwnership(path.join(folder, "owners"));
  const leases = new Map<string, ProcessLease>();
  let starting: Promise<Started> | null = null;
  let sweeper: NodeJS.Timeout | undefined;
  let closed = false;

  const start = async (): Promise<Started> => {
    const reason = await whyNot(bubblewrap);
    if (reason !== null) throw new LeaseError(reason);
    const cgroups = await findCgroups();
    const bytes = seccompFilter();
    if (cgroups === null) throw new LeaseError("memory and processes cannot be bound: no cgroups to make groups in");
    if (bytes === null) throw new LeaseError(`there is no filter of system calls for ${process.arch}`);
    await makeFolder(folder);
    const filter = path.join(folder, `filter-${process.arch}`);
    await writeFile(filter, bytes);
    const started = { root: await makeRoot(folder), filter, cgroups };
    await sweep(areas, owners, cgroups);
    const upkeep = () => Promise.all([touchRoot(started.root.path), sweep(areas, owners, cgroups)]);
    sweeper = setInterval(() => void upkeep().catch(() => {}), SWEEP_MS);
    sweeper.unref();
    return started;
  };
  const running = (): Promise<Started> => {
    if (closed) throw new LeaseError("the provider is closed");
    return (starting ??= start());
  };

  const acquire = async (request: LeaseRequest): Promise<Lease> => {
    const { root, filter, cgroups } = await running();
    const { leaseId, limits, files, layers } = request;
    const at = path.join(areas, leaseId);
    const remove = async () => {
      await removeWorkArea(at);
      await owners.drop(leaseId);
      leases.delete(leaseId);
    };
    try {
      await owners.take(leaseId);
      const cgroup = await cgroups.create(leaseId, limits);
      const user = randomInt(USERS.from, USERS.to);
      const area = await makeWorkArea(at, user, limits, files, layers);
      const plan = { root, bubblewrap, filter, area: at, user, joins: cgroup.joins, layers: area.layers };
      const lease = new ProcessLease({ plan, area, cgroup, request, capabilities: CAPABILITIES, remove });
      leases.set(leaseId, lease);
      return lease;
    } catch (error) {
      await cgroups.destroy(leaseId);
      await remove();
      throw error instanceof LeaseError ? error : new LeaseError("the sandbox cannot be made", { cause: error });
    }
  };

  return {
    name: "process",
    capabilities: CAPABILITIES,
    config: z.strictObject({}),
    probe: async () => {
      try {
        const { cgroups } = await running();
        return await probeProcess(acquire, cgroups.version);
      } catch (error) {
        return { available: false, reason: error instanceof Error ? error.message : String(error) };
      }
    },
    acquire,
    leftovers: async () => found(areas, (await running()).cgroups),
    destroy: async (leaseId) => {
      const { cgroups } = await running();
      const own = leases.get(leaseId);
      if (own !== undefined) return own.end("it was destroyed");
      await destroyAt(areas, leaseId, owners, cgroups);
    },
    close: async () => {
      closed = true;
      clearInterval(sweeper);
      await starting?.catch(() => {});
      clearInterval(sweeper);
      await Promise.all([...leases.values()].map((lease) => lease.end("the provider was closed")));
    },
  };
}

/** Everyone may look into it, for sandboxes run as users of their own; nobody else may have made it. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { uid } = await stat(folder);
  if (uid !== process.getuid?.()) throw new LeaseError(`${folder} belongs to another user`);
  await chmod(folder, 0o711);
}

async function found(areas: string, cgroups: Cgroups): Promise<string[]> {
  return [...new Set([...(await listWorkAreas(areas)), ...(await cgroups.list())])];
}

/** What workers left behind that were stopped without a word. */
async function sweep(areas: string, owners: Ownership, cgroups: Cgroups): Promise<void> {
  for (const leaseId of await found(areas, cgroups)) {
    if (!(await owners.isHeld(leaseId))) await destroyAt(areas, leaseId, owners, cgroups);
  }
}

async function destroyAt(areas: string, leaseId: string, owners: Ownership, cgroups: Cgroups): Promise<void> {
  await cgroups.destroy(leaseId);
  await removeWorkArea(path.join(areas, leaseId));
  await owners.drop(leaseId);
}
