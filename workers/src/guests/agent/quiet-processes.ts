import { readdirSync, readFileSync } from "node:fs";

/** System calls in which a process waits for another one: read, readv, write, wait4, waitid, splice, rt_sigsuspend. */
const WAITS: Readonly<Record<string, readonly string[]>> = {
  x64: ["0", "19", "1", "61", "247", "275", "130"],
  arm64: ["63", "65", "64", "260", "95", "76", "133"],
};
/** Where the kernel does not tell the call: programs that wait for nothing but their input and their children. */
const PLAIN = new Set(
  "bash sh dash tool cat tee jq grep sed awk mawk gawk head tail cut tr sort uniq wc xargs".split(" "),
);

/**
 * Whether nothing of a sandbox can move before somebody from outside gives it something: every process but our own (and
 * the first one, which only buries others) waits for another process. One that sleeps by the clock is not quiet; nor is
 * one that we may not look at. Two looks that agree, since the processes are looked at one after the other.
 */
export function isQuiet(self: number): boolean {
  const first = lookAtAll(self);
  return first !== null && first === lookAtAll(self);
}

/** What all processes wait in, and how often each has waited; null where one does not wait. */
function lookAtAll(self: number): string | null {
  let seen = "";
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || name === "1" || name === String(self)) continue;
    const waits = lookAt(`/proc/${name}`);
    if (waits === null) return null;
    seen += `${name} ${waits}\n`;
  }
  return seen;
}

function lookAt(folder: string): string | null {
  try {
    const status = readFileSync(`${folder}/status`, "utf8");
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1] ?? "";
    // One that has ended and was not buried yet: whoever buries it is looked at, too.
    if (field("State") === "Z") return "";
    if (field("State") !== "S" || field("Threads") !== "1") return null;
    const call = readCall(folder);
    const waits = call === null ? PLAIN.has(field("Name")) : (WAITS[process.arch] ?? []).includes(call);
    return waits ? field("voluntary_ctxt_switches") : null;
  } catch {
    // It ended between the listing and the look: something moves.
    return null;
  }
}

/** The number of the system call that it is in; null where this kernel does not tell. */
function readCall(folder: string): string | null {
  try {
    return readFileSync(`${folder}/syscall`, "utf8").split(" ")[0] as string;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
