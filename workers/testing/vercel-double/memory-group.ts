import { access, mkdir, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const VERSION_1 = "/sys/fs/cgroup/memory";
const VERSION_2 = "/sys/fs/cgroup";

/** What bounds the memory of one machine of the double: a cgroup, of either version. */
export interface MemoryGroup {
  /** Who writes its pid here is in it, with all its children. */
  readonly door: string;
  /** A file with a line `oom_kill <count>`, as /proc/vmstat of a machine has for all of it. */
  readonly kills: string;
  remove(): Promise<void>;
}

export async function makeMemoryGroup(name: string, bytes: number): Promise<MemoryGroup> {
  const isOld = await access(VERSION_1).then(
    () => true,
    () => false,
  );
  const folder = path.join(isOld ? VERSION_1 : VERSION_2, name);
  await mkdir(folder);
  await writeFile(path.join(folder, isOld ? "memory.limit_in_bytes" : "memory.max"), String(bytes));
  return {
    door: path.join(folder, "cgroup.procs"),
    kills: path.join(folder, isOld ? "memory.oom_control" : "memory.events"),
    async remove() {
      // It is busy until the kernel has reaped the last process.
      for (let tries = 0; tries < 200; tries++) {
        try {
          return await rmdir(folder);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "EBUSY") return;
          await sleep(25);
        }
      }
    },
  };
}
