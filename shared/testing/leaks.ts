import { readdirSync, readFileSync } from "node:fs";

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly startedAt: number;
  readonly command: string;
}

/**
 * Processes that this run started and that still live: our descendants, and orphans of our process group (a killed
 * parent hands its children to init). Linux only; elsewhere nothing is found.
 */
export async function findLeaks(spared: readonly number[], patienceMs: number): Promise<string[]> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const leaks = look(spared);
    if (leaks.length === 0 || Date.now() > deadline) return leaks.map(({ pid, command }) => `pid ${pid}: ${command}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function look(spared: readonly number[]): Process[] {
  const all = listProcesses();
  const self = all.get(process.pid);
  if (self === undefined) return [];
  const ancestors = new Set([...chain(all, self)].map(({ pid }) => pid));
  return [...all.values()].filter((one) => {
    const line = [one, ...chain(all, one)];
    if (one.pid === self.pid || ancestors.has(one.pid)) return false;
    if (line.some(({ pid }) => spared.includes(pid))) return false;
    if (one.parent === self.pid && isVitestWorker(one)) return false;
    const orphan =
      one.group === self.group &&
      one.startedAt >= self.startedAt &&
      !line.some((p) => ancestors.has(p.pid) && p.pid > 1);
    return orphan || line.some(({ pid }) => pid === self.pid);
  });
}

function isVitestWorker(one: Process): boolean {
  return one.command.includes("vitest") && one.command.includes("workers");
}

function* chain(all: Map<number, Process>, one: Process): Generator<Process> {
  for (let parent = all.get(one.parent); parent !== undefined; parent = all.get(parent.parent)) yield parent;
}

function listProcesses(): Map<number, Process> {
  const found = new Map<number, Process>();
  if (process.platform !== "linux") return found;
  for (const entry of readdirSync("/proc")) {
    const one = /^\d+$/.test(entry) ? readProcess(Number(entry)) : null;
    if (one !== null) found.set(one.pid, one);
  }
  return found;
}

function readProcess(pid: number): Process | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may hold spaces; the fields after it are fixed (proc(5)).
    const [state, parent, group, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return null;
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    return { pid, parent: Number(parent), group: Number(group), startedAt: Number(rest[16]), command };
  } catch {
    return null;
  }
}
