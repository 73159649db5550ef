import type { SandboxLimits } from "@airlock/shared/domain";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The kernel's bounds of one sandbox, by its lease. */
export interface Cgroup {
  /** Files that a process writes its id into, to be bound with all that it starts. */
  readonly joins: readonly string[];
  readonly memory: boolean;
  readonly pids: boolean;
  readonly cpu: boolean;
  ranOutOfMemory(): Promise<boolean>;
  /** Ends every process in it, and removes it. Throws where one is left. */
  destroy(): Promise<void>;
}

export interface Cgroups {
  readonly version: "v1" | "v2";
  create(leaseId: string, limits: SandboxLimits): Promise<Cgroup>;
  list(): Promise<string[]>;
  destroy(leaseId: string): Promise<void>;
}

const NAMES = ["memory", "pids", "cpu"] as const;
type Name = (typeof NAMES)[number];
const PARENT = "airlock";
const PERIOD_US = 100_000;
const DESTROY_TRIES = 200;
const DESTROY_PAUSE_MS = 10;

/** Finds what this machine has, below the worker's own group; null where nothing can be made there. */
export async function findCgroups(): Promise<Cgroups | null> {
  const own = new Map(
    readLines("/proc/self/cgroup").flatMap((line) => {
      const [, names = "", at = ""] = line.split(":", 3);
      return (names === "" ? ["v2"] : names.split(",")).map((name): [string, string] => [name, at]);
    }),
  );
  const mounts = readLines("/proc/self/mountinfo").map((line) => line.split(" "));
  const rootOf = (fits: (fields: readonly string[]) => boolean, name: string): string | null => {
    const at = mounts.find(fits)?.[4];
    if (at === undefined) return null;
    // In a container the path of the host is not there, and the mount is the own group.
    const nested = path.join(at, own.get(name) ?? "");
    return existsSync(nested) ? nested : at;
  };
  const v1 = new Map<Name, string>();
  for (const name of NAMES) {
    const at = rootOf((fields) => fields.includes("cgroup") && fields.at(-1)?.split(",").includes(name) === true, name);
    if (at !== null) v1.set(name, at);
  }
  if (v1.has("memory") && v1.has("pids")) return (await canMake([...v1.values()])) ? groups("v1", v1) : null;
  const v2 = rootOf((fields) => fields.includes("cgroup2"), "v2");
  if (v2 === null || !(await delegate(v2))) return null;
  return groups("v2", new Map(NAMES.map((name) => [name, v2])));
}

/** Processes may not be where controllers are handed down, so the worker steps aside first. */
async function delegate(own: string): Promise<boolean> {
  try {
    const has = await readFile(path.join(own, "cgroup.controllers"), "utf8");
    if (!NAMES.every((name) => has.split(/\s+/).includes(name))) return false;
    const aside = path.join(own, "airlock-worker");
    await mkdir(aside, { recursive: true });
    for (const pid of readLines(path.join(own, "cgroup.procs"))) await writeFile(path.join(aside, "cgroup.procs"), pid);
    const all = NAMES.map((name) => `+${name}`).join(" ");
    await writeFile(path.join(own, "cgroup.subtree_control"), all);
    await mkdir(path.join(own, PARENT), { recursive: true });
    await writeFile(path.join(own, PARENT, "cgroup.subtree_control"), all);
    return true;
  } catch {
    return false;
  }
}

async function canMake(roots: readonly string[]): Promise<boolean> {
  try {
    for (const root of roots) await mkdir(path.join(root, PARENT), { recursive: true });
    return true;
  } catch {
    return false;
  }
}

function groups(version: "v1" | "v2", roots: ReadonlyMap<Name, string>): Cgroups {
  const parents = new Set([...roots.values()].map((root) => path.join(root, PARENT)));
  const foldersOf = (leaseId: string) => [...parents].map((parent) => path.join(parent, leaseId));
  const destroy = async (leaseId: string) => {
    for (const folder of foldersOf(leaseId)) await destroyGroup(folder);
  };
  return {
    version,
    destroy,
    list: async () => {
      const names = await Promise.all([...parents].map((parent) => listFolders(parent)));
      return [...new Set(names.flat())];
    },
    create: async (leaseId, limits) => {
      const folders = foldersOf(leaseId);
      await Promise.all(folders.map((folder) => mkdir(folder)));
      const at = (name: Name) => path.join(roots.get(name) ?? "", PARENT, leaseId);
      const set = version === "v1" ? setV1 : setV2;
      const memory = roots.has("memory") && (await set.memory(at("memory"), limits.memoryBytes));
      const pids = roots.has("pids") && (await write(at("pids"), "pids.max", limits.pids));
      const cpu = roots.has("cpu") && (await set.cpu(at("cpu"), limits.cpus));
      const joins = folders.map((folder) => path.join(folder, "cgroup.procs"));
      const events = path.join(at("memory"), version === "v1" ? "memory.oom_control" : "memory.events");
      const ranOutOfMemory = async () => /^oom_kill [1-9]/m.test(await readFile(events, "utf8").catch(() => ""));
      return { joins, memory, pids, cpu, ranOutOfMemory, destroy: () => destroy(leaseId) };
    },
  };
}

const setV1 = {
  memory: async (at: string, bytes: number) => {
    const set = await write(at, "memory.limit_in_bytes", bytes);
    // With swap, which a kernel may not count: then the probe finds out whether the limit holds.
    await write(at, "memory.memsw.limit_in_bytes", bytes);
    return set;
  },
  cpu: async (at: string, cpus: number) =>
    (await write(at, "cpu.cfs_period_us", PERIOD_US)) &&
    write(at, "cpu.cfs_quota_us", Math.max(1000, Math.round(cpus * PERIOD_US))),
};

const setV2 = {
  memory: async (at: string, bytes: number) => {
    await write(at, "memory.swap.max", 0);
    await write(at, "memory.oom.group", 1);
    return write(at, "memory.max", bytes);
  },
  cpu: (at: string, cpus: number) =>
    write(at, "cpu.max", `${Math.max(1000, Math.round(cpus * PERIOD_US))} ${PERIOD_US}`),
};

async function write(at: string, file: string, value: number | string): Promise<boolean> {
  try {
    await writeFile(path.join(at, file), String(value));
    return true;
  } catch {
    return false;
  }
}

async function destroyGroup(folder: string): Promise<void> {
  for (let i = 0; existsSync(folder); i++) {
    if (i === DESTROY_TRIES) throw new Error(`processes are left in ${folder}`);
    await write(folder, "cgroup.kill", 1);
    for (const pid of readLines(path.join(folder, "cgroup.procs"))) kill(Number(pid));
    try {
      await rmdir(folder);
    } catch {
      await sleep(DESTROY_PAUSE_MS);
    }
  }
}

function kill(pid: number): void {
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

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}
