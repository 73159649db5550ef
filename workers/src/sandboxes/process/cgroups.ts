import type { SandboxLimits } from "@airlock/shared/domain";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LeaseError } from "../port.ts";
import { type CgroupSeats, type Controller, findSeats, readLines } from "./cgroup-seats.ts";

/** The kernel's bounds of one sandbox, by its lease. */
export interface Cgroup {
  /** Files that a process writes its id into, to be bound with all that it starts. */
  readonly joins: readonly string[];
  ranOutOfMemory(): Promise<boolean>;
  /** How often it was held up because its processor time was used up. */
  throttled(): Promise<number>;
  /** Ends every process in it, and removes it. Throws where one is left. */
  destroy(): Promise<void>;
}

export type CgroupLimits = Pick<SandboxLimits, "memoryBytes" | "pids" | "cpus">;

export interface Cgroups {
  readonly version: "v1" | "v2";
  /** What can be bounded here at all. */
  readonly controllers: ReadonlySet<Controller>;
  /** Throws `LeaseError` where one of the bounds cannot be set. */
  create(name: string, limits: CgroupLimits): Promise<Cgroup>;
  list(): Promise<string[]>;
  destroy(name: string): Promise<void>;
}

const PERIOD_US = 100_000;
/** Of a group that is killed: a process ends when it gets to run, on a machine that may have much to do. */
const DESTROY_MS = 15_000;
const DESTROY_PAUSE_MS = 10;

/** Null where this machine lets us make none. `kernel` is where it tells of a process's own groups. */
export async function findCgroups(name: string, kernel = "/proc/self"): Promise<Cgroups | null> {
  const seats = await findSeats(name, kernel);
  return seats === null ? null : groups(seats);
}

function groups({ version, parents }: CgroupSeats): Cgroups {
  const folders = [...new Set(parents.values())];
  const foldersOf = (name: string) => folders.map((parent) => path.join(parent, name));
  const destroy = (name: string) => destroyGroups(foldersOf(name));
  return {
    version,
    destroy,
    controllers: new Set(parents.keys()),
    list: async () => {
      const names = await Promise.all(folders.map((parent) => listFolders(parent)));
      return [...new Set(names.flat())];
    },
    create: async (name, limits) => {
      const own = foldersOf(name);
      await Promise.all(own.map((folder) => mkdir(folder)));
      try {
        for (const [controller, parent] of parents) {
          await (version === "v1" ? BOUND_V1 : BOUND_V2)[controller](path.join(parent, name), limits);
        }
      } catch (error) {
        await destroy(name);
        throw error;
      }
      const told = async (controller: Controller, file: string) =>
        readFile(path.join(parents.get(controller) ?? "", name, file), "utf8").catch(() => "");
      const events = version === "v1" ? "memory.oom_control" : "memory.events";
      return {
        joins: own.map((folder) => path.join(folder, "cgroup.procs")),
        ranOutOfMemory: async () => /^oom_kill [1-9]/m.test(await told("memory", events)),
        throttled: async () => Number(/^nr_throttled (\d+)/m.exec(await told("cpu", "cpu.stat"))?.[1] ?? 0),
        destroy: () => destroy(name),
      };
    },
  };
}

type Bound = Readonly<Record<Controller, (at: string, limits: CgroupLimits) => Promise<void>>>;

const pids: Bound["pids"] = (at, limits) => set(at, "pids.max", limits.pids);
const quotaOf = ({ cpus }: CgroupLimits) => Math.max(1000, Math.round(cpus * PERIOD_US));

const BOUND_V1: Bound = {
  pids,
  memory: async (at, { memoryBytes }) => {
    await set(at, "memory.limit_in_bytes", memoryBytes);
    // With swap, which a kernel may not count: then the probe finds out whether the limit holds.
    await write(at, "memory.memsw.limit_in_bytes", memoryBytes);
  },
  cpu: async (at, limits) => {
    await set(at, "cpu.cfs_period_us", PERIOD_US);
    await set(at, "cpu.cfs_quota_us", quotaOf(limits));
  },
};

const BOUND_V2: Bound = {
  pids,
  memory: async (at, { memoryBytes }) => {
    await write(at, "memory.swap.max", 0);
    await write(at, "memory.oom.group", 1);
    await set(at, "memory.max", memoryBytes);
  },
  cpu: (at, limits) => set(at, "cpu.max", `${quotaOf(limits)} ${PERIOD_US}`),
};

async function set(at: string, file: string, value: number | string): Promise<void> {
  if (!(await write(at, file, value))) throw new LeaseError(`the bound ${file} cannot be set to ${value}`);
}

async function write(at: string, file: string, value: number | string): Promise<boolean> {
  try {
    await writeFile(path.join(at, file), String(value));
    return true;
  } catch {
    return false;
  }
}

async function destroyGroups(folders: readonly string[]): Promise<void> {
  const there = () => folders.filter((folder) => existsSync(folder));
  for (const folder of there()) {
    // Whoever is to end has to run for that, and must not wait for its share of a processor.
    await write(folder, "cpu.cfs_quota_us", -1);
    await write(folder, "cpu.max", "max");
  }
  const until = performance.now() + DESTROY_MS;
  for (let left = there(); left.length > 0; left = there()) {
    if (performance.now() > until) throw new Error(`processes are left in ${left.join(" and ")}`);
    for (const folder of left) {
      await write(folder, "cgroup.kill", 1);
      for (const pid of readLines(path.join(folder, "cgroup.procs"))) kill(Number(pid));
      await rmdir(folder).catch(() => undefined);
    }
    if (there().length > 0) await sleep(DESTROY_PAUSE_MS);
  }
}

export function kill(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

async function listFolders(parent: string): Promise<string[]> {
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
