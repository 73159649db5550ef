import { execFile } from "node:child_process";
import { existsSync, lstatSync, readlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import type { Step } from "./step.ts";

const run = promisify(execFile);

/** What programs need of a system beside its programs: names, and whom to trust. */
const OF_ETC =
  "resolv.conf hosts host.conf nsswitch.conf gai.conf services protocols ssl ca-certificates pki alternatives";
const SCRATCH_BYTES = 256 * 1024 * 1024;

/** Null where this machine has no bubblewrap that may be used. */
export async function findBubblewrap(): Promise<string | null> {
  const file = "/usr/bin/bwrap";
  if (process.platform !== "linux" || !existsSync(file)) return null;
  const step: Step = { command: ["/usr/bin/true"], environment: {}, folder: "/tmp", seenAt: "/mnt", network: true };
  const [command, ...args] = walledCommand(step, file, process.getuid?.() === 0 ? 65_534 : null, null);
  return run(command, args, { env: {} }).then(
    () => file,
    () => null,
  );
}

/**
 * Its own processes, its own view of files, no rights; the host's network where it needs one. Run by root it becomes
 * `user`, who owns nothing but the folder; else it stays who we are, in a user namespace of its own. Variables are not
 * among the arguments, which every process of the machine may read. The filter of system calls is read from a descriptor.
 */
export function walledCommand(
  step: Step,
  bubblewrap: string,
  user: number | null,
  filterAt: number | null,
): readonly [string, ...string[]] {
  const { folder, seenAt = folder, cwd = seenAt, network, sees = [], inFolder = [], links = [] } = step;
  const seen = (places: typeof sees) =>
    places.flatMap(([source, target]) => [...above(target), "--ro-bind", source, target]);
  const rights = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"].flatMap((right) => ["--cap-add", right]);
  const become = [
    ...["setpriv", "--reuid", String(user), "--regid", String(user), "--clear-groups"],
    ...["--bounding-set=-all", "--inh-caps=-all", "--"],
  ];
  return [
    bubblewrap,
    ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent"],
    ...["--new-session", "--hostname", "provisioning"],
    ...(network ? [] : ["--unshare-net"]),
    ...(filterAt === null ? [] : ["--seccomp", String(filterAt)]),
    ...(user === null ? ["--unshare-user", "--uid", "65534", "--gid", "65534"] : rights),
    ...system(),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--perms", "1777", "--size", String(SCRATCH_BYTES), "--tmpfs", "/tmp"],
    ...seen(sees),
    ...links.flatMap(([leadsTo, at]) => [...above(at), "--symlink", leadsTo, at]),
    ...[...above(seenAt), "--bind", folder, seenAt],
    ...seen(inFolder),
    ...["--chdir", cwd, "--"],
    ...(user === null ? [] : become),
    ...step.command,
  ];
}

/** The folders above a place: by itself bubblewrap makes them for nobody but root. */
function above(place: string): string[] {
  const parts = place.split("/").slice(1, -1);
  return parts.flatMap((_, i) => ["--dir", `/${parts.slice(0, i + 1).join("/")}`]);
}

function system(): string[] {
  const links = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"].flatMap((name) => {
    const at = `/${name}`;
    if (!existsSync(at)) return [];
    return lstatSync(at).isSymbolicLink() ? ["--symlink", readlinkSync(at), at] : ["--ro-bind", at, at];
  });
  const etc = OF_ETC.split(" ").map((name) => path.join("/etc", name));
  return ["--ro-bind", "/usr", "/usr", ...links, "--dir", "/etc", ...etc.flatMap((at) => ["--ro-bind-try", at, at])];
}
