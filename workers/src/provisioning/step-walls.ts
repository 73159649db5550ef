import { randomUUID } from "node:crypto";
import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Cgroups, findCgroups } from "../sandboxes/process/cgroups.ts";
import { identityOf } from "../sandboxes/process/identity.ts";
import { nameOfProcess } from "../sandboxes/process/ownership.ts";
import { seccompFilter } from "../sandboxes/process/seccomp.ts";
import type { Step } from "./step.ts";
import { walledCommand } from "./walls.ts";

/** What stands around a step on this machine. */
export interface StepWalls {
  readonly bubblewrap: string | null;
  /** The file of the filter of system calls; null: there is none for this machine. */
  readonly filter: string | null;
  /** Null: this machine lets us make none. */
  readonly groups: Cgroups | null;
}

/** This machine's own: what is kept of layers may be shared by several. */
const FOLDER = path.join(tmpdir(), "airlock-steps");

export async function findStepWalls(bubblewrap: string | null): Promise<StepWalls> {
  if (process.platform !== "linux") return { bubblewrap, filter: null, groups: null };
  const folder = process.getuid?.() === 0 ? FOLDER : `${FOLDER}-${process.getuid?.()}`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await stat(folder)).uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user`);
  await chmod(folder, 0o700);
  const bytes = seccompFilter();
  const filter = bytes === null ? null : path.join(folder, `filter-${process.arch}`);
  if (bytes !== null && filter !== null) await writeFile(filter, bytes);
  const groups = await findCgroups(`airlock-steps-${await identityOf(folder)}`);
  if (groups !== null) await removeAbandoned(groups);
  return { bubblewrap, filter, groups };
}

/** Says whose it is: what a worker leaves that is killed, the next one removes. */
export function stepName(): string {
  return `${nameOfProcess(process.pid)?.replace(" ", ".")}.${randomUUID()}`;
}

async function removeAbandoned(groups: Cgroups): Promise<void> {
  for (const name of await groups.list()) {
    const [pid, tick] = name.split(".");
    if (nameOfProcess(Number(pid)) === `${pid} ${tick}`) continue;
    // Where one cannot be ended nothing is lost but its name.
    await groups.destroy(name).catch(() => undefined);
  }
}

/**
 * A shell that binds itself by the kernel's bounds and becomes the step. Values go in as arguments, never as text of the
 * script.
 */
export function stepCommand(
  step: Step,
  { bubblewrap, filter }: StepWalls,
  user: number | null,
  joins: readonly string[],
): readonly [string, ...string[]] {
  const bind = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift';
  if (bubblewrap === null) return ["/bin/sh", "-c", `${bind}\nexec "$@"`, "sh", ...joins, "--", ...step.command];
  const command = walledCommand(step, bubblewrap, user, filter === null ? null : FILTER_AT);
  const become = filter === null ? 'exec "$@"' : `filter=$1; shift; exec "$@" ${FILTER_AT}<"$filter"`;
  const given = filter === null ? command : [filter, ...command];
  return ["/bin/sh", "-c", `${bind}\n${become}`, "sh", ...joins, "--", ...given];
}

const FILTER_AT = 5;
