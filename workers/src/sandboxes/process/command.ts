import type { Language } from "@airlock/shared/domain";
import { existsSync } from "node:fs";
import path from "node:path";
import { CHANNEL_ARGUMENTS } from "../channel/child-transport.ts";
import type { Layer } from "../port.ts";
import { HOST_PYTHON, type SandboxRoot } from "./root.ts";
import { WRITABLE } from "./work-area.ts";

/** Nothing of the worker's own environment is in it. */
export const GUEST_ENVIRONMENT = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/home/guest",
  LANG: "C.UTF-8",
  TZ: "UTC",
  TMPDIR: "/tmp",
} as const;

export interface SandboxPlan {
  readonly root: SandboxRoot;
  readonly bubblewrap: string;
  readonly filter: string;
  readonly area: string;
  /** A user of this sandbox alone: what the kernel counts by user is not shared with a neighbour. */
  readonly user: number;
  readonly joins: readonly string[];
  readonly layers: readonly Layer[];
}

const AGENTS: Partial<Record<Language, readonly string[]>> = {
  JAVASCRIPT: ["/usr/bin/node", "/agent/agent.cjs"],
  TYPESCRIPT: ["/usr/bin/node", "/agent/agent.cjs"],
  BASH: ["/usr/bin/node", "/agent/agent.cjs"],
  PYTHON: ["/usr/bin/python3", "/agent/agent.py"],
};

/** Python as far as the machine has it. */
export function languagesHere(): Language[] {
  const all = Object.keys(AGENTS) as Language[];
  return existsSync(HOST_PYTHON) ? all : all.filter((language) => language !== "PYTHON");
}

/**
 * A shell that binds itself by the kernel's bounds and becomes bubblewrap, as a user who owns nothing. Values go in as
 * arguments, never as text of the script.
 */
export function sandboxCommand(plan: SandboxPlan, language: Language): { file: string; args: string[] } {
  const { joins, filter, user, bubblewrap } = plan;
  const script = [
    'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift',
    'filter=$1; user=$2; shift 2; exec setpriv --reuid "$user" --regid "$user" --clear-groups -- "$@" 5<"$filter"',
  ].join("\n");
  const agent = [...(AGENTS[language] ?? []), ...CHANNEL_ARGUMENTS];
  const args = [...joins, "--", filter, String(user), bubblewrap, ...walls(plan), "--", ...agent];
  return { file: "/bin/sh", args: ["-c", script, "sh", ...args] };
}

function walls({ root, area, layers }: SandboxPlan): string[] {
  const seen = (name: string) => ["--ro-bind", path.join(root.path, name), `/${name}`];
  const python = root.pythonLibrary === null ? [] : ["--ro-bind", root.pythonLibrary, root.pythonLibrary];
  const writable = Object.entries(WRITABLE).flatMap(([name, at]) => ["--bind", path.join(area, name), at]);
  const environment = Object.entries(GUEST_ENVIRONMENT).flatMap(([name, value]) => ["--setenv", name, value]);
  return [
    ...["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"],
    ...["--cap-drop", "ALL", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox"],
    ...["--seccomp", "5", "--clearenv", ...environment],
    ...[...seen("usr"), ...python, ...seen("etc"), ...seen("agent")],
    ...["bin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    ...["--proc", "/proc", "--dev", "/dev", ...writable],
    ...layers.flatMap(({ source, target }) => ["--ro-bind", source, target]),
    ...["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work"],
  ];
}
