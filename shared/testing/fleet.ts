import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Api, createApi } from "./api.ts";
import { freePort } from "../src/runtime/index.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const ADMIN_KEY = "fleet-admin-key";

export interface FleetOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly workers?: number;
  /** Beside what a fleet needs anyway. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The real programs, as processes of their own: one gateway and some workers. */
export interface Fleet {
  readonly url: string;
  readonly api: Api;
  /** The admin key. */
  readonly key: string;
  readonly gateway: ChildProcess;
  readonly workers: ChildProcess[];
  /** One worker more, ready when this resolves. */
  addWorker(): Promise<ChildProcess>;
  /** Ends what still runs, in order, and waits for it. */
  stop(): Promise<void>;
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const port = await freePort();
  const env = {
    PATH: process.env["PATH"],
    DATABASE_URL: options.databaseUrl,
    REDIS_URL: options.redisUrl ?? "",
    AIRLOCK_LOG: process.env["AIRLOCK_LOG"] ?? "warn",
    // Proving a sandbox takes time at each start of a worker: a test says what else it needs.
    AIRLOCK_SANDBOXES: "isolate",
    ...options.env,
  };
  const gateway = start("gateway", { ...env, AIRLOCK_PORT: String(port), AIRLOCK_ADMIN_KEY: ADMIN_KEY });
  const workers: ChildProcess[] = [];
  const addWorker = async (): Promise<ChildProcess> => {
    const healthPort = await freePort();
    const worker = start("workers", { ...env, AIRLOCK_HEALTH_PORT: String(healthPort) });
    workers.push(worker);
    await waitUntilReady(worker, healthPort);
    return worker;
  };
  const fleet: Fleet = {
    url: `http://127.0.0.1:${port}`,
    api: createApi(`http://127.0.0.1:${port}/graphql`, ADMIN_KEY),
    key: ADMIN_KEY,
    gateway,
    workers,
    addWorker,
    stop: async () => {
      await Promise.all(workers.map((worker) => endProcess(worker)));
      await endProcess(gateway);
    },
  };
  try {
    await waitUntilReady(gateway, port);
    await Promise.all(Array.from({ length: options.workers ?? 1 }, addWorker));
    return fleet;
  } catch (error) {
    await fleet.stop();
    throw error;
  }
}

function start(program: string, env: Record<string, string | undefined>): ChildProcess {
  return spawn(process.execPath, [path.join(ROOT, program, "src/main.ts")], {
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
}

/** SIGTERM, and the exit code once it is gone. A stopped process is woken first. */
export async function endProcess(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, "exit");
  child.kill("SIGCONT");
  child.kill("SIGTERM");
  await exited;
  return child.exitCode;
}

async function waitUntilReady(child: ChildProcess, port: number): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const end = child.exitCode ?? child.signalCode;
    if (end !== null) throw new Error(`a program ended with ${end} before it was ready`);
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return;
    await sleep(100);
  }
  throw new Error("a program is not ready after 60 s");
}
