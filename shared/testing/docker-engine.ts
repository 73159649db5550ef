import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { answers, installSandboxImage } from "@airlock/infra/sandbox-image";
import { services } from "./services.ts";

const run = promisify(execFile);

export interface DockerEngine {
  readonly socket: string;
  readonly image: string;
}

/** From the first build of the image on a slow machine; afterwards it is seconds. */
export const ENGINE_TIMEOUT_MS = 900_000;
const POLL_MS = 100;

/** The engine of this test run, with the sandbox image: started by whoever asks first, stopped when the run ends. */
export async function useDockerEngine(): Promise<DockerEngine> {
  const named = process.env["AIRLOCK_DOCKER_SOCKET"];
  if (named !== undefined) return { socket: named, image: await installSandboxImage(named) };
  const folder = services().dockerFolder;
  const ready = path.join(folder, "ready.json");
  // Test files run side by side: one of them starts it.
  const first = await mkdir(path.join(folder, "starting")).then(
    () => true,
    () => false,
  );
  if (first)
    await writeFile(ready, JSON.stringify(await start(folder).catch((error: Error) => ({ error: error.message }))));
  for (;;) {
    const text = await readFile(ready, "utf8").catch(() => "");
    if (text.endsWith("}")) {
      const found = JSON.parse(text) as DockerEngine & { error?: string };
      if (found.error !== undefined) throw new Error(found.error);
      return found;
    }
    await sleep(POLL_MS);
  }
}

/** A daemon of its own: nothing of the machine's containers, images, bridges or packet filters is touched. */
async function start(folder: string): Promise<DockerEngine> {
  const socket = path.join(folder, "docker.sock");
  const config = path.join(folder, "daemon.json");
  const runsc = { path: "runsc", runtimeArgs: ["--network=none", "--platform=ptrace"] };
  // As somebody sets it up who wants it to run where cgroups cannot be made.
  const unbounded = { ...runsc, runtimeArgs: [...runsc.runtimeArgs, "--ignore-cgroups"] };
  await writeFile(
    config,
    JSON.stringify({
      "data-root": path.join(folder, "data"),
      "exec-root": path.join(folder, "exec"),
      pidfile: path.join(folder, "pid"),
      hosts: [`unix://${socket}`],
      bridge: "none",
      iptables: false,
      ip6tables: false,
      "ip-forward": false,
      "ip-masq": false,
      "shutdown-timeout": 1,
      runtimes: { runsc, "runsc-unbounded": unbounded },
    }),
  );
  // In a session of its own and nobody's child: the file that starts it is not the last one that uses it.
  const command = 'setsid --fork dockerd --config-file "$1" >"$2" 2>&1 </dev/null';
  await run("sh", ["-c", command, "start", config, path.join(folder, "log")]);
  const deadline = Date.now() + 120_000;
  while (!(await answers(socket))) {
    if (Date.now() > deadline) throw new Error(await readFile(path.join(folder, "log"), "utf8"));
    await sleep(POLL_MS);
  }
  return { socket, image: await installSandboxImage(socket) };
}

/** Stops the daemon that runs in this folder, if any, and takes its folder away. */
export async function stopDockerEngine(folder: string): Promise<void> {
  const pidFile = path.join(folder, "pid");
  const pid = Number(await readFile(pidFile, "utf8").catch(() => "0"));
  if (pid > 0 && existsSync(`/proc/${pid}`)) {
    process.kill(pid, "SIGTERM");
    const deadline = Date.now() + 60_000;
    while (existsSync(`/proc/${pid}`) && Date.now() < deadline) await sleep(POLL_MS);
  }
  await rm(folder, { recursive: true, force: true });
}
