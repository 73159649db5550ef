import { GUEST_ENVIRONMENT } from "../process/command.ts";
import { VIEW } from "./scripts.ts";

/** What was found on a machine. */
export interface MachineFacts {
  /** Of its processor, as Node names it. */
  readonly arch: string;
  /** Where a sandbox can see it. */
  readonly hasPython: boolean;
  /** Whether we log in as root there: then each guest is a user of its own. */
  readonly isRoot: boolean;
  /** How memory and processes are bounded there. */
  readonly group: "1" | "2" | "user" | "none";
  /** Of the root: links of the merged `/usr`, and folders where it is not merged. */
  readonly links: readonly (readonly [name: string, target: string])[];
  readonly folders: readonly string[];
}

/**
 * bubblewrap's arguments for a guest: no network, no rights, nothing of the machine but its programs, read-only. The
 * same walls as the process provider's, around the folders that `inside.sh` has put together.
 */
export function guestWalls(facts: MachineFacts, targets: readonly string[]): string[] {
  const environment = Object.entries({ ...GUEST_ENVIRONMENT, PATH: `/airlock/bin:${GUEST_ENVIRONMENT.PATH}` });
  const areas = { work: "/work", home: GUEST_ENVIRONMENT.HOME, tmp: "/tmp", shm: "/dev/shm" };
  const etc = ["alternatives", "ld.so.cache"].map((name) => `/etc/${name}`);
  return [
    ...["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"],
    ...["--cap-drop", "ALL", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox"],
    ...["--seccomp", "9", "--clearenv", ...environment.flatMap(([name, value]) => ["--setenv", name, value])],
    ...["--ro-bind", "/usr", "/usr"],
    ...facts.links.flatMap(([name, target]) => ["--symlink", target, `/${name}`]),
    ...facts.folders.flatMap((name) => ["--ro-bind", `/${name}`, `/${name}`]),
    ...etc.flatMap((file) => ["--ro-bind-try", file, file]),
    ...["--ro-bind", `${VIEW}/node`, "/airlock/bin/node", "--ro-bind", `${VIEW}/agent`, "/agent"],
    ...["--proc", "/proc", "--dev", "/dev"],
    ...Object.entries(areas).flatMap(([area, target]) => ["--bind", `${VIEW}/${area}`, target]),
    ...targets.flatMap((target, i) => ["--ro-bind", `${VIEW}/layers/${i + 1}`, target]),
    ...["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work"],
  ];
}
