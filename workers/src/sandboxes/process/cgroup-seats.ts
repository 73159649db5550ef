import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

export const CONTROLLERS = ["memory", "pids", "cpu"] as const;
export type Controller = (typeof CONTROLLERS)[number];

/** Where groups can be made. */
export interface CgroupSeats {
  readonly version: "v1" | "v2";
  /** Of each controller that is there the folder that holds our groups. */
  readonly parents: ReadonlyMap<Controller, string>;
}

/** Where a worker of v2 steps aside to. */
const ASIDE = "airlock-worker";

/**
 * What this machine has, below the worker's own group; null where nothing can be made there. Groups of one name belong
 * together, and whoever knows the name may end them.
 */
export async function findSeats(name: string, kernel: string): Promise<CgroupSeats | null> {
  const v1 = rootsOfV1(kernel);
  const v2 = rootOfV2(kernel);
  const both = v1.has("memory") && v1.has("pids");
  const isDelegated = !both && v2 !== null && (await delegate(v2, name));
  if (isDelegated) return { version: "v2", parents: new Map(isDelegated.map((each) => [each, path.join(v2, name)])) };
  const parents = new Map<Controller, string>();
  for (const [controller, root] of v1) {
    const parent = path.join(root, name);
    if (await canMake(parent)) parents.set(controller, parent);
  }
  return parents.size === 0 ? null : { version: "v1", parents };
}

function rootsOfV1(kernel: string): Map<Controller, string> {
  const found = CONTROLLERS.map((name): [Controller, string | null] => {
    const fits = (fields: readonly string[]) =>
      fields.includes("cgroup") && fields.at(-1)?.split(",").includes(name) === true;
    return [name, rootOf(kernel, name, fits)];
  });
  return new Map(found.filter((each): each is [Controller, string] => each[1] !== null));
}

/**
 * The same for every worker that a supervisor starts one after the other: it was moved aside with the first of them, and
 * what it starts begins there.
 */
export function rootOfV2(kernel: string): string | null {
  let at = rootOf(kernel, "", (fields) => fields.includes("cgroup2"));
  while (at !== null && path.basename(at) === ASIDE) at = path.dirname(at);
  return at;
}

function rootOf(kernel: string, name: string, fits: (fields: readonly string[]) => boolean): string | null {
  const mount = readLines(path.join(kernel, "mountinfo"))
    .map((line) => line.split(" "))
    .find(fits)?.[4];
  if (mount === undefined) return null;
  const own = readLines(path.join(kernel, "cgroup"))
    .map((line) => line.split(":", 3))
    .find(([, names]) => names?.split(",").includes(name));
  // In a container the path of the host is not there, and the mount is the own group.
  const nested = path.join(mount, own?.[2] ?? "");
  return existsSync(nested) ? nested : mount;
}

/** Processes may not be where controllers are handed down, so the worker steps aside first. */
async function delegate(own: string, name: string): Promise<Controller[] | false> {
  try {
    const has = (await readFile(path.join(own, "cgroup.controllers"), "utf8")).split(/\s+/);
    const usable = CONTROLLERS.filter((each) => has.includes(each));
    if (usable.length === 0) return false;
    const aside = path.join(own, ASIDE);
    await mkdir(aside, { recursive: true });
    for (const pid of readLines(path.join(own, "cgroup.procs"))) await writeFile(path.join(aside, "cgroup.procs"), pid);
    const all = usable.map((each) => `+${each}`).join(" ");
    await writeFile(path.join(own, "cgroup.subtree_control"), all);
    await mkdir(path.join(own, name), { recursive: true });
    await writeFile(path.join(own, name, "cgroup.subtree_control"), all);
    return usable;
  } catch {
    return false;
  }
}

async function canMake(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true });
    return true;
  } catch {
    return false;
  }
}

export function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}
