import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { kill } from "./cgroups.ts";

/** Users that no account of the machine has. */
export const SANDBOX_USERS = { from: 0x6a00_0000, to: 0x6b00_0000 } as const;
const END_MS = 15_000;
const PAUSE_MS = 10;

/** Ends every process of a user that is one sandbox's alone. Throws where one is left. */
export async function endProcessesOf(user: number): Promise<void> {
  const until = performance.now() + END_MS;
  for (let left = processesOf(user); left.length > 0; left = processesOf(user)) {
    if (performance.now() > until) throw new Error(`processes of the user ${user} are left`);
    for (const pid of left) kill(pid);
    await sleep(PAUSE_MS);
  }
}

function processesOf(user: number): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "latin1");
      return !/^State:\tZ/m.test(status) && Number(/^Uid:\t(\d+)/m.exec(status)?.[1]) === user;
    } catch {
      return false;
    }
  });
}
