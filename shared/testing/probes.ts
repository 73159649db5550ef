import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { BUN } from "./bun.ts";

const run = promisify(execFile);

/** How each optional part shows that it is here; the failure of its command is the reason for a skip. */
const PROBES = {
  redis: ["redis-server", "--version"],
  // A binary alone proves nothing: many machines forbid user namespaces.
  bwrap: ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"],
  python: ["python3", "--version"],
  // Gives a program a pseudo-terminal (util-linux).
  pty: ["script", "--version"],
  chromium: ["chromium", "--version"],
  bun: [BUN, "--version"],
  // A daemon is started for the tests, and the image is made from Debian's packages.
  docker: [
    "sh",
    "-c",
    `[ -n "$AIRLOCK_DOCKER_SOCKET" ] && exit 0
    [ "$(id -u)" = 0 ] || { echo "only root can start a container engine" >&2; exit 1; }
    for program in dockerd mmdebstrap; do
      command -v "$program" >/dev/null || { echo "$program is not installed" >&2; exit 1; }
    done`,
  ],
  runsc: ["runsc", "--version"],
  root: ["sh", "-c", '[ "$(id -u)" = 0 ] || { echo "these tests run as root only" >&2; exit 1; }'],
} as const satisfies Record<string, readonly [string, ...string[]]>;

export type Need = keyof typeof PROBES;

export const ALL_NEEDS = Object.keys(PROBES) as Need[];

export async function probeAll(): Promise<Partial<Record<Need, string>>> {
  const found = await Promise.all(ALL_NEEDS.map(async (need) => [need, await probe(PROBES[need])] as const));
  return Object.fromEntries(found.filter(([, reason]) => reason !== null));
}

async function probe([command, ...args]: readonly [string, ...string[]]): Promise<string | null> {
  try {
    await run(command, args, { timeout: 10_000 });
    return null;
  } catch (error) {
    const { code, stderr, message } = error as { code?: string; stderr?: string; message: string };
    return code === "ENOENT" ? `${command} is not installed` : stderr?.trim().split("\n")[0] || message;
  }
}

/** `AIRLOCK_TEST_REQUIRE` is `all` or a list like `redis,bwrap`. */
export function isRequired(need: Need, wanted: string | undefined): boolean {
  const list = (wanted ?? "").split(",").map((item) => item.trim());
  return list.includes("all") || list.includes(need);
}
