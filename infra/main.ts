import { mkdir } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { createLifecycle, EnvError, type Lifecycle } from "@airlock/shared/runtime";
import { pino } from "pino";
import { startEmbeddedPostgres } from "./embedded/index.ts";
import { parseEnv, type StartEnv } from "./env.ts";
import { keepSecret } from "./keep-secret.ts";
import { HELP, readyMessage } from "./messages.ts";
import { type Program, startProgram } from "./programs.ts";
import { requireFreePort, waitUntilReady } from "./readiness.ts";
import { type LogSink, openLogSink } from "./terminal-log.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const READY_MS = 60_000;
// The children's own limit (25 s) ends first and says more.
const STOP_MS = 28_000;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { help: { type: "boolean", short: "h" } } });
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const started = performance.now();
  const env = parseEnv(process.env);
  await mkdir(env.home, { recursive: true, mode: 0o700 });
  const logFile = path.join(env.home, "airlock.log");
  const sink = await openLogSink(logFile, env.logLevel ?? "warn");
  const log = pino(
    { base: { program: "airlock", pid: process.pid } },
    { write: (line) => sink.write("airlock", line.trimEnd()) },
  );
  const lifecycle = createLifecycle({ log });
  let failed = false;
  lifecycle.stopping.addEventListener("abort", () => {
    if (!failed) console.log("\nAirlock drains and stops (again to force) …");
  });
  lifecycle.defer("log file", () => sink.close());
  lifecycle.handleSignals();
  // Whoever reads our output may leave before we do (`npm start | head`); that is no reason to die.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

  try {
    const adminKey = await chooseAdminKey(env);
    const fault = await run(env, adminKey.value, lifecycle, sink, () =>
      console.log(
        readyMessage({
          port: env.port,
          home: env.home,
          adminKey,
          logFile,
          seconds: (performance.now() - started) / 1000,
        }),
      ),
    );
    throw new Error(fault);
  } catch (error) {
    if (lifecycle.stopping.aborted) return;
    failed = true;
    console.error(`Airlock: ${(error as Error).message}`);
    await lifecycle.shutdown("failure").catch(() => undefined);
    process.exit(1);
  }
}

/** Starts everything and then waits; settles only with the sentence that says which part was lost. */
async function run(
  env: StartEnv,
  adminKey: string,
  lifecycle: Lifecycle,
  sink: LogSink,
  onReady: () => void,
): Promise<string> {
  const database = await openDatabase(env, lifecycle);
  await requireFreePort(env.port, database.adopted ? STOP_MS : 0);
  lifecycle.stopping.throwIfAborted();
  const programs = startPrograms(env, database.url, adminKey, sink);
  lifecycle.defer("programs", () => stopAll(programs), { timeoutMs: STOP_MS });
  process.once("exit", () => programs.forEach((program) => program.kill()));

  const ended = programs.map((program) =>
    program.ended.then((how) => `the ${program.name} ${how}; everything else is stopped`),
  );
  const loss = Promise.race([database.lost, ...ended]);
  const waiting = new AbortController();
  lifecycle.stopping.addEventListener("abort", () => waiting.abort());
  const early = await Promise.race([waitUntilReady(env.port, waiting.signal, READY_MS), loss]);
  waiting.abort();
  if (typeof early === "string") return early;
  onReady();
  return loss;
}

interface Database {
  readonly url: string;
  readonly adopted: boolean;
  readonly lost: Promise<string>;
}

async function openDatabase(env: StartEnv, lifecycle: Lifecycle): Promise<Database> {
  if (env.databaseUrl !== null) return { url: env.databaseUrl, adopted: false, lost: new Promise(() => undefined) };
  const log = { warn: (message: string) => console.warn(`Airlock: ${message}`) };
  const starting = startEmbeddedPostgres({ home: env.home, log });
  // Registered before it is awaited: a Ctrl-C in the middle of the start must not leave a server behind.
  lifecycle.defer(
    "postgres",
    () =>
      starting.then(
        (postgres) => postgres.stop(),
        () => undefined,
      ),
    { timeoutMs: STOP_MS },
  );
  const postgres = await starting;
  process.once("exit", () => postgres.kill());
  return postgres;
}

function startPrograms(env: StartEnv, databaseUrl: string, adminKey: string, sink: LogSink): Program[] {
  const { AIRLOCK_ADMIN_KEY: _, ...inherited } = process.env;
  const common = {
    ...inherited,
    DATABASE_URL: databaseUrl,
    AIRLOCK_HOME: env.home,
    AIRLOCK_PORT: String(env.port),
    AIRLOCK_LOG: env.logLevel ?? "info",
    // Shorter than our own patience with it, so that a drain ends by itself.
    AIRLOCK_DRAIN_MS: process.env["AIRLOCK_DRAIN_MS"] ?? "20000",
    ...(env.redisUrl === null ? {} : { REDIS_URL: env.redisUrl }),
  };
  const gateway = startProgram(
    "gateway",
    path.join(ROOT, "gateway/src/main.ts"),
    { ...common, AIRLOCK_ADMIN_KEY: adminKey },
    sink,
  );
  const worker = startProgram("worker", path.join(ROOT, "workers/src/main.ts"), common, sink);
  return [gateway, worker];
}

async function stopAll(programs: readonly Program[]): Promise<void> {
  const outcomes = await Promise.allSettled(programs.map((program) => program.stop()));
  const faults = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as Error] : []));
  if (faults.length > 0) throw new AggregateError(faults, faults.map((fault) => fault.message).join("; "));
}

async function chooseAdminKey(env: StartEnv): Promise<{ value: string; keptAt: string | null }> {
  if (env.adminKey !== null) return { value: env.adminKey, keptAt: null };
  const keptAt = path.join(env.home, "admin-key");
  return { value: await keepSecret(keptAt, "airlock_admin_"), keptAt };
}

try {
  await main();
} catch (error) {
  if (!(error instanceof EnvError) && (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS") !== true)
    throw error;
  console.error(`Airlock: ${(error as Error).message}`);
  process.exitCode = 2;
}
