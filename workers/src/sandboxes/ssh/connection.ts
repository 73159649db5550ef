import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { SshMachine } from "./machines.ts";

/** ssh's own; the scripts over there never end with it. */
export const CONNECTION_EXIT = 255;
const CONNECT_S = 15;
/** A machine that is silent for three of these is lost. */
const ALIVE_S = 5;

/** How machines are reached: the files that ssh needs, in a folder of this worker's own. */
export interface SshFiles {
  readonly folder: string;
  /** The program; tests put another in its place. */
  readonly ssh: string;
}

/** One run of ssh. What it says about itself goes to a file: descriptor 2 is the remote program's alone. */
export interface SshChild {
  readonly child: ChildProcess;
  /** Why there is no connection, or no more; to be asked once it has ended. */
  readonly reason: () => Promise<string>;
}

export async function writeKnownHost({ folder }: SshFiles, name: string, machine: SshMachine): Promise<void> {
  const host = machine.port === 22 ? machine.host : `[${machine.host}]:${machine.port}`;
  await writeFile(knownHosts(folder, name), `${host} ${machine.hostKey}\n`, { mode: 0o600 });
}

/** `command` goes through the login shell over there, whichever it is: words only, or text in single quotes. */
export function connect(
  files: SshFiles,
  name: string,
  machine: SshMachine,
  command: string,
  stdio: readonly ("pipe" | "ignore")[],
): SshChild {
  const log = path.join(files.folder, `log-${randomUUID()}`);
  const child = spawn(files.ssh, [...options(files.folder, name, machine, log), "--", machine.host, command], {
    stdio: [...stdio],
    // Built from nothing: no agent, no askpass program, nothing of the worker's.
    env: { PATH: process.env["PATH"], HOME: files.folder, LANG: "C.UTF-8" },
  });
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
    child.once("error", () => resolve());
  });
  const said = ended.then(async () => {
    const text = await readFile(log, "utf8").catch(() => "");
    await rm(log, { force: true });
    return text.trim().split("\n").at(-1)?.trim() ?? "";
  });
  return { child, reason: async () => (await said) || "the connection was lost" };
}

/** Nothing but what is said here: no file of the user's or the system's is read. */
function options(folder: string, name: string, machine: SshMachine, log: string): string[] {
  const settings = {
    BatchMode: "yes",
    StrictHostKeyChecking: "yes",
    UserKnownHostsFile: knownHosts(folder, name),
    GlobalKnownHostsFile: "/dev/null",
    UpdateHostKeys: "no",
    IdentityFile: machine.identityFile,
    IdentitiesOnly: "yes",
    IdentityAgent: "none",
    PreferredAuthentications: "publickey",
    ForwardAgent: "no",
    ForwardX11: "no",
    ClearAllForwardings: "yes",
    PermitLocalCommand: "no",
    RequestTTY: "no",
    // Each guest has a connection of its own: one that is lost takes one guest with it (docs/decisions/0023).
    ControlMaster: "no",
    ControlPath: "none",
    ConnectTimeout: String(CONNECT_S),
    ConnectionAttempts: "1",
    ServerAliveInterval: String(ALIVE_S),
    ServerAliveCountMax: "3",
    LogLevel: "ERROR",
  };
  const given = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  return ["-F", "none", "-E", log, ...given, "-p", String(machine.port), "-l", machine.user];
}

function knownHosts(folder: string, name: string): string {
  return path.join(folder, `known-${name}`);
}
