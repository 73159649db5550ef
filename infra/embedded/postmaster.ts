import { spawn } from "node:child_process";
import { open, readFile, rm, stat } from "node:fs/promises";
import path from "node:path";
import { freePort } from "@airlock/shared/runtime";
import { isAlive, isPostmasterOf, waitForExit } from "./process-table.ts";
import type { Site } from "./site.ts";

/** A Postgres server process on this site's data, started by us or found running. */
export type Postmaster = { pid: number; port: number; logOffset: number };

/** The server that runs on the data now, if any. A `postmaster.pid` that nobody stands behind is removed. */
export async function findPostmaster(site: Site): Promise<Postmaster | null> {
  const file = path.join(site.dataDir, "postmaster.pid");
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return null;
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!isPostmasterOf(pid, site.dataDir)) {
    // Postgres itself would refuse to start if the number now belongs to another process of its own user.
    await rm(file, { force: true });
    return null;
  }
  const port = Number(lines[3] ?? 0);
  return port > 0 ? { pid, port, logOffset: await logSize(site) } : null;
}

/** Starts the server in a session of its own, out of reach of the terminal's Ctrl-C. */
export async function launchPostmaster(site: Site, settings: Record<string, string>): Promise<Postmaster> {
  const port = await freePort();
  const logOffset = await logSize(site);
  const all = { ...defaultSettings, ...settings, port: String(port) };
  const args = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const log = await open(site.logFile, "a", 0o600);
  try {
    const child = spawn(path.join(site.binDir, "postgres"), ["-D", site.dataArgument(site.dataDir), ...args], {
      cwd: site.dataDir,
      env: site.environment,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      ...site.account,
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    return { pid: child.pid as number, port, logOffset };
  } finally {
    await log.close();
  }
}

const defaultSettings: Record<string, string> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  shared_buffers: "128MB",
  fsync: "on",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_checkpoints: "off",
};

/** Fast shutdown: transactions are rolled back, data is flushed. Harder means only when that hangs. */
export async function stopPostmaster(pid: number): Promise<void> {
  const steps = [
    ["SIGINT", 15_000],
    ["SIGQUIT", 5_000],
  ] as const;
  for (const [signal, patience] of steps) {
    if (!isAlive(pid)) return;
    process.kill(pid, signal);
    if (await waitForExit(pid, patience)) return;
  }
  throw new Error(`the embedded Postgres (pid ${pid}) did not stop`);
}

/** What the server said since it was started, for error messages. */
export async function logTail(site: Site, postmaster: Postmaster): Promise<string> {
  const log = await open(site.logFile, "r");
  try {
    const from = Math.max(postmaster.logOffset, (await log.stat()).size - 8_192);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(8_192), 0, 8_192, from);
    return buffer.subarray(0, bytesRead).toString("utf8").trim().split("\n").slice(-15).join("\n");
  } finally {
    await log.close();
  }
}

async function logSize(site: Site): Promise<number> {
  return stat(site.logFile).then(
    (found) => found.size,
    () => 0,
  );
}
