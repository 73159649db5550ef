import { readFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** Which worker made a sandbox: a process id alone may meanwhile be another's. */
export interface Ownership {
  take(leaseId: string): Promise<void>;
  /** Whether the worker that took it is still there. */
  isHeld(leaseId: string): Promise<boolean>;
  drop(leaseId: string): Promise<void>;
}

export function createOwnership(folder: string): Ownership {
  const file = (leaseId: string) => path.join(folder, leaseId);
  return {
    take: async (leaseId) => {
      await mkdir(folder, { recursive: true });
      await writeFile(file(leaseId), nameOfProcess(process.pid) ?? "");
    },
    isHeld: async (leaseId) => {
      const name = await readFile(file(leaseId), "utf8").catch(() => "");
      return name !== "" && nameOfProcess(Number(name.split(" ")[0])) === name;
    },
    drop: (leaseId) => rm(file(leaseId), { force: true }),
  };
}

/** The process id with the tick it started at; null where there is no such process. */
export function nameOfProcess(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? null : `${pid} ${fields[19]}`;
  } catch {
    return null;
  }
}
