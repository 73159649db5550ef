import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { finished } from "node:stream/promises";
import { makeMemoryGroup, type MemoryGroup } from "./memory-group.ts";

/** The user that commands without sudo run as, and that files written from outside belong to. */
const USER = "1000";
/** A fraction of what the vendor gives, so that a test of its end is quick. */
const MEMORY_BYTES = 256 * 1024 * 1024;
const PATH = "/vercel/runtimes/node24/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
export const HOME = "/vercel/sandbox";

export interface MachineCommand {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly sudo?: boolean | undefined;
}

/** What stands for one microVM: namespaces of its own for all of its commands, a root folder, a memory limit. */
export interface Machine {
  /** Starts a command in it, as the vendor's agent does. */
  run(command: MachineCommand): ChildProcess;
  /** Pulls the plug. */
  stop(): Promise<void>;
}

export async function startMachine(id: string): Promise<Machine> {
  const root = await makeRoot();
  const memory = await makeMemoryGroup(`airlock-double-${id}`, MEMORY_BYTES);
  const inGroup = ["-c", 'echo $$ > "$0" && exec "$@"', memory.door];
  const init = spawn(
    "sh",
    [...inGroup, "bwrap", ...walls(root, memory), "sh", "-c", "echo up && exec sleep infinity"],
    {
      stdio: ["ignore", "pipe", "inherit", "pipe"],
      env: { PATH: process.env["PATH"] },
    },
  );
  const ended = once(init, "exit");
  const pid = await Promise.race([childPid(init), ended.then(() => Promise.reject(new Error("bwrap ended")))]);
  return {
    run: ({ cmd, args, cwd = HOME, env = {}, sudo = false }) => {
      const user = sudo ? [] : ["--setuid", USER, "--setgid", USER];
      const into = [
        "nsenter",
        "--target",
        pid,
        "--mount",
        "--pid",
        "--net",
        "--ipc",
        "--uts",
        ...user,
        `--wdns=${cwd}`,
      ];
      return spawn("sh", [...inGroup, ...into, "--", cmd, ...args], {
        stdio: ["pipe", "pipe", "pipe"],
        env: { PATH, HOME: sudo ? "/root" : HOME, ...env },
      });
    },
    async stop() {
      // The kernel ends a pid namespace with its first process.
      if (init.exitCode === null && init.signalCode === null) process.kill(Number(pid), "SIGKILL");
      await ended;
      await memory.remove();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function makeRoot(): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), "airlock-vercel-double-"));
  await chmod(root, 0o755);
  for (const folder of ["vercel/sandbox", "vercel/runtimes/node24/bin", "root", "etc", "tmp"]) {
    await mkdir(path.join(root, folder), { recursive: true });
  }
  await chmod(path.join(root, "tmp"), 0o1777);
  await chown(path.join(root, "vercel/sandbox"), Number(USER), Number(USER));
  await writeFile(
    path.join(root, "etc/passwd"),
    `root:x:0:0::/root:/bin/sh\nvercel-sandbox:x:${USER}:${USER}::/:/bin/sh\n`,
  );
  return root;
}

function walls(root: string, memory: MemoryGroup): string[] {
  return [
    ...["--bind", root, "/", "--ro-bind", "/usr", "/usr"],
    ...["bin", "sbin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    ...["--ro-bind", process.execPath, "/vercel/runtimes/node24/bin/node"],
    ...[
      "--proc",
      "/proc",
      "--ro-bind",
      memory.kills,
      "/proc/vmstat",
      "--dev",
      "/dev",
      "--unshare-pid",
      "--unshare-net",
      "--unshare-ipc",
      "--unshare-uts",
    ],
    ...["--die-with-parent", "--info-fd", "3", "--"],
  ];
}

/** bubblewrap tells the pid of its child, as seen from outside, on descriptor 3; its walls stand a little later. */
async function childPid(init: ChildProcess): Promise<string> {
  const up = once(init.stdout as NodeJS.ReadableStream, "data");
  const info = init.stdio[3] as NodeJS.ReadableStream;
  let text = "";
  info.on("data", (piece: Buffer) => (text += piece.toString()));
  await Promise.all([up, finished(info)]);
  return String((JSON.parse(text) as { "child-pid": number })["child-pid"]);
}
