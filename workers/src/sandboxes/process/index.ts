import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { randomInt } from "node:crypto";
import { tmpdir } from "node:os";
import path from "node:path";
import { LeaseError, type LeaseRequest, type ProbeResult, type ProviderCapabilities } from "../port.ts";
import type { SandboxProvider } from "../port.ts";
import { type Cgroup, type Cgroups, findCgroups } from "./cgroups.ts";
import { languagesHere } from "./command.ts";
import { type Bounded, processConfig, whatIsMissing } from "./config.ts";
import { identityOf } from "./identity.ts";
import { ProcessLease } from "./lease.ts";
import { createLeftovers, type Leftovers, type Log } from "./leftovers.ts";
import { createOwnership } from "./ownership.ts";
import { type Measured, measureProcess, whyNot } from "./probe.ts";
import { endProcessesOf, SANDBOX_USERS } from "./processes.ts";
import { makeRoot, type SandboxRoot, touchRoot } from "./root.ts";
import { seccompFilter } from "./seccomp.ts";
import { makeWorkArea, removeWorkArea } from "./work-area.ts";

export interface ProcessConfig {
  readonly bubblewrap?: string;
  /** Where sandboxes have their folders, and the programs that they see. */
  readonly folder?: string;
  /** Where the kernel tells of our own control groups. */
  readonly kernel?: string;
  readonly log?: Log;
}

const CAPABILITIES: ProviderCapabilities = {
  languages: languagesHere(),
  keptBy: "replay",
  workArea: true,
  outlivesWorker: false,
};
const SWEEP_MS = 5_000;

interface Started {
  readonly root: SandboxRoot;
  readonly filter: string;
  /** Null: this machine lets us make none. */
  readonly cgroups: Cgroups | null;
  readonly leftovers: Leftovers;
}

export function createProcessProvider(config: ProcessConfig = {}): SandboxProvider {
  const { bubblewrap = "/usr/bin/bwrap", folder = path.join(tmpdir(), "airlock-process"), kernel, log } = config;
  const areas = path.join(folder, "areas");
  const owners = createOwnership(path.join(folder, "owners"));
  const leases = new Map<string, ProcessLease>();
  let sweeper: NodeJS.Timeout | undefined;
  let closed = false;
  let measured: Measured | null = null;

  const start = async (): Promise<Started> => {
    const reason = await whyNot(bubblewrap);
    if (reason !== null) throw new LeaseError(reason);
    const bytes = seccompFilter();
    if (bytes === null) throw new LeaseError(`there is no filter of system calls for ${process.arch}`);
    await makeFolder(folder);
    const cgroups = await findCgroups(`airlock-${await identityOf(folder)}`, kernel);
    const filter = path.join(folder, `filter-${process.arch}`);
    await writeFile(filter, bytes);
    const leftovers = createLeftovers({ areas, owners, cgroups, log });
    const root = await makeRoot(folder);
    const upkeep = () => Promise.all([touchRoot(root.path).catch(() => {}), leftovers.sweep()]);
    sweeper = setInterval(() => void upkeep(), SWEEP_MS);
    sweeper.unref();
    void upkeep();
    return { root, filter, cgroups, leftovers };
  };
  const begin = once(start);
  const running = (): Promise<Started> => {
    if (closed) throw new LeaseError("the provider is closed");
    return begin();
  };

  const make = async (request: LeaseRequest): Promise<ProcessLease> => {
    const { root, filter, cgroups, leftovers } = await running();
    const { leaseId, limits, files, layers } = request;
    const at = path.join(areas, leaseId);
    const abandon = async () => {
      leases.delete(leaseId);
      await owners.drop(leaseId);
    };
    const remove = async () => {
      await removeWorkArea(at);
      await abandon();
    };
    try {
      await owners.take(leaseId);
      const user = randomInt(SANDBOX_USERS.from, SANDBOX_USERS.to);
      const [cgroup, area] = await both(
        cgroups?.create(leaseId, limits) ?? Promise.resolve(unbounded(user)),
        makeWorkArea(at, user, limits, files, layers),
      );
      const plan = { root, bubblewrap, filter, area: at, user, joins: cgroup.joins, layers: area.layers };
      const lease = new ProcessLease({ plan, area, cgroup, request, capabilities: CAPABILITIES, remove, abandon });
      leases.set(leaseId, lease);
      return lease;
    } catch (error) {
      await leftovers.destroy(leaseId).catch(abandon);
      throw error instanceof LeaseError ? error : new LeaseError("the sandbox cannot be made", { cause: error });
    }
  };

  const measure = once(async () => {
    const { cgroups } = await running();
    return (measured = await measureProcess(make, cgroups?.version ?? "none"));
  });
  const tried = async (judge: (held: Measured) => ProbeResult): Promise<ProbeResult> => {
    try {
      return judge(await measure());
    } catch (error) {
      return { available: false, reason: error instanceof Error ? error.message : String(error) };
    }
  };

  return {
    name: "process",
    capabilities: CAPABILITIES,
    config: processConfig,
    probe: () => tried(report),
    prove: (given) =>
      tried((held) => {
        const reason = whatIsMissing(held, processConfig.parse(given));
        return reason === null ? report(held) : { available: false, reason };
      }),
    acquire: async (request) => {
      const { cgroups } = await running();
      const missing = whatIsMissing(measured ?? boundedBy(cgroups), processConfig.parse(request.config));
      if (missing !== null) throw new LeaseError(missing);
      return make(request);
    },
    leftovers: async () => (await running()).leftovers.list(),
    destroy: async (leaseId) => {
      const { leftovers } = await running();
      const own = leases.get(leaseId);
      if (own !== undefined) return own.end("it was destroyed");
      await leftovers.destroy(leaseId);
    },
    close: async () => {
      closed = true;
      await begin.settled();
      clearInterval(sweeper);
      const ends = [...leases.values()].map((lease) => lease.end("the provider was closed"));
      const failed = (await Promise.allSettled(ends)).find((end) => end.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

function report(held: Measured): ProbeResult {
  return { available: true, isolation: { provider: "process", level: "process", enforced: { ...held } }, image: null };
}

/** What groups can bound, until it is measured. */
function boundedBy(cgroups: Cgroups | null): Bounded {
  const has = (name: "memory" | "pids") => cgroups?.controllers.has(name) ?? false;
  return { memory: has("memory"), pids: has("pids") };
}

function unbounded(user: number): Cgroup {
  return {
    joins: [],
    ranOutOfMemory: async () => false,
    throttled: async () => 0,
    destroy: () => endProcessesOf(user),
  };
}

/** Everyone may look into it, for sandboxes run as users of their own; nobody else may have made it. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { uid } = await stat(folder);
  if (uid !== process.getuid?.()) throw new LeaseError(`${folder} belongs to another user`);
  await chmod(folder, 0o711);
}

/** Side by side; where one fails the other has come to its end, too, so that what it made can be removed. */
async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

/** Does it once, and again only after a failure. */
function once<T>(work: () => Promise<T>): (() => Promise<T>) & { settled(): Promise<void> } {
  let asked: Promise<T> | null = null;
  const ask = () =>
    (asked ??= work().catch((error: unknown) => {
      asked = null;
      throw error;
    }));
  return Object.assign(ask, {
    settled: async () => {
      await asked?.catch(() => {});
    },
  });
}
