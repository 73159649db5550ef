import path from "node:path";
import { loadConfig } from "@airlock/shared/config";
import { newId, topics } from "@airlock/shared/contracts";
import { createBus } from "@airlock/shared/bus";
import {
  isOffered,
  migrateToLatest,
  openDatabase,
  publishProviders,
  publishTools,
  registerWorker,
} from "@airlock/shared/db";
import { DEFAULT_GUEST_LIMITS } from "@airlock/shared/domain";
import { chooseStore, createFiles, type Store } from "@airlock/shared/files";
import {
  type ApprovalQueue,
  chooseBackend,
  createApprovalQueue,
  createTaskQueues,
  prepareBackend,
} from "@airlock/shared/queue";
import {
  createHealthRoutes,
  createLifecycle,
  createLogger,
  createMetricsRegistry,
  type Lifecycle,
  type Logger,
  type Registry,
  serveHealth,
} from "@airlock/shared/runtime";
import { sql } from "kysely";
import type { Context } from "./context.ts";
import { createPolicies } from "./desk/policies.ts";
import { createFunctionTools } from "./functions/index.ts";
import { HELP, parseEnv, type WorkerEnv } from "./env.ts";
import { createLeaseBook } from "./leasing/lease-book.ts";
import { createRestedLeases } from "./leasing/rested-leases.ts";
import { createTaskEnvironments } from "./leasing/task-environments.ts";
import { createWorkerMetrics } from "./metrics.ts";
import { createApprovalAnnouncer, expireApprovals } from "./processors/approval-processor.ts";
import { createTaskProcessor } from "./processors/task-processor.ts";
import { startProbes } from "./processors/probe-processor.ts";
import { provisioningOf } from "./provisioning/index.ts";
import {
  createProviders,
  type ProbedProviders,
  proveProviders,
  type ProvedProvider,
  providerManifests,
} from "./providers.ts";
import { createRunningSegments } from "./runner/running-segments.ts";
import { createSegmentStore } from "./runner/segment-store.ts";
import { loadPlugins, loadTools } from "./tools/load-tools.ts";
import { createRegistry, type SourcedTool, type ToolRegistry } from "./tools/registry.ts";
import { createFeeder } from "./upkeep/feeder.ts";
import { startHeartbeat } from "./upkeep/heartbeat.ts";
import { startIndexer } from "./upkeep/indexer.ts";
import { startReaper } from "./upkeep/reaper.ts";
import { startRetention } from "./upkeep/retention.ts";
import { startSweeper } from "./upkeep/sweeper.ts";
import { startThroughput } from "./upkeep/throughput.ts";

const VERSION = "0.1.0";
/** Beyond this a snapshot costs more than running the program again; freed memory stays in it. */
const MAX_SNAPSHOT_BYTES = 1024 * 1024;

async function main(): Promise<void> {
  const env = parseEnv(process.env);
  const log = createLogger({ program: "worker", level: env.AIRLOCK_LOG });
  const lifecycle = createLifecycle({ log });
  lifecycle.handleSignals();
  try {
    await start(env, log, lifecycle);
  } catch (error) {
    // A signal during the start takes the parts away under it; the shutdown it began sets the exit code.
    if (!lifecycle.stopping.aborted) throw error;
  }
}

async function start(env: WorkerEnv, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const store = chooseStore(env);
  // Small files and all else go on without it.
  store.check().catch((error: unknown) => log.warn({ err: error }, "large files cannot be kept"));
  const tools = createRegistry(await loadAllTools(env, store));
  const providers = await createProviders(env, log);
  for (const provider of providers) lifecycle.defer(`provider ${provider.name}`, () => provider.close());
  const probed = await proveProviders(providers, log);
  const { proved } = probed;
  if (proved.length === 0) throw new Error("no sandbox provider is available on this machine");

  const registry = createMetricsRegistry("worker");
  const parts = await openParts(env, store, log, lifecycle);
  lifecycle.stopping.throwIfAborted();
  await register(env, parts, tools, probed);
  const context = createContext(env, parts, tools, proved, registry, lifecycle);
  await startWork(env, context, parts.approvals, lifecycle, proved);

  if (env.AIRLOCK_HEALTH_PORT !== null) {
    const checks = {
      database: async () => void (await sql`select 1`.execute(context.db)),
      queue: () => context.queues.ping(proved.map(({ provider }) => provider.name)),
      bus: () => context.bus.ping(),
    };
    const routes = createHealthRoutes({ checks, registry, stopping: lifecycle.stopping });
    const server = await serveHealth(routes, { host: env.AIRLOCK_HEALTH_HOST, port: env.AIRLOCK_HEALTH_PORT });
    lifecycle.defer("health", () => server.close());
  }
  log.info({ worker: context.workerId, providers: proved.map(({ isolation }) => isolation) }, "worker is ready");
}

async function loadAllTools(env: WorkerEnv, store: Store): Promise<SourcedTool[]> {
  const tools = await loadTools(env.AIRLOCK_TOOLS, { store, httpAllow: env.AIRLOCK_HTTP_ALLOW });
  const loaded = await loadConfig(env.AIRLOCK_CONFIG);
  if (loaded === null) return tools;
  return [...tools, ...(await loadPlugins(loaded.config.tools, path.dirname(loaded.file)))];
}

/** The connections, and what this worker runs. */
interface Parts extends Pick<Context, "workerId" | "db" | "files" | "bus" | "queues" | "running" | "log"> {
  readonly approvals: ApprovalQueue;
  readonly warn: (part: string) => (error: unknown) => void;
}

async function openParts(env: WorkerEnv, store: Store, log: Logger, lifecycle: Lifecycle): Promise<Parts> {
  await migrateToLatest(env.DATABASE_URL);
  const backend = chooseBackend({ redisUrl: env.REDIS_URL, databaseUrl: env.DATABASE_URL });
  await prepareBackend(backend);
  const warn = (part: string) => (error: unknown) => log.warn({ err: error, part }, "connection trouble");
  const db = openDatabase({
    url: env.DATABASE_URL,
    poolSize: 8,
    program: "airlock-worker",
    onError: warn("database"),
    maxSilenceMs: env.AIRLOCK_LOST_AFTER_MS,
  });
  lifecycle.defer("database", () => db.destroy());
  const bus = createBus(backend, warn("bus"));
  lifecycle.defer("bus", () => bus.close());
  const queues = createTaskQueues(backend, warn("queue"));
  lifecycle.defer("queues", () => queues.close());
  const approvals = createApprovalQueue(backend, warn("queue"));
  lifecycle.defer("approval queue", () => approvals.close());
  return {
    workerId: newId(),
    db,
    files: createFiles(db, store),
    bus,
    queues,
    approvals,
    running: createRunningSegments(),
    log,
    warn,
  };
}

async function register(
  env: WorkerEnv,
  { db, workerId }: Parts,
  tools: ToolRegistry,
  probed: ProbedProviders,
): Promise<void> {
  const manifests = tools.manifests();
  await publishTools(
    db,
    manifests.map(({ inputSchema, outputSchema, ...tool }) => ({
      ...tool,
      inputSchema: JSON.stringify(inputSchema),
      outputSchema: outputSchema === null ? null : JSON.stringify(outputSchema),
    })),
  );
  await registerWorker(db, {
    id: workerId,
    host: env.AIRLOCK_WORKER_HOST,
    version: VERSION,
    capacity: env.AIRLOCK_CONCURRENCY,
    providers: probed.proved.map(({ provider }) => provider.name),
    tools: manifests.map(({ path, version }) => `${path}@${version}`),
  });
  await publishProviders(db, workerId, providerManifests(probed));
}

function createContext(
  env: WorkerEnv,
  parts: Parts,
  tools: ToolRegistry,
  proved: readonly ProvedProvider[],
  registry: Registry,
  lifecycle: Lifecycle,
): Context {
  const { db, bus, workerId, running, approvals, warn } = parts;
  const heart = startHeartbeat(parts, { periodMs: env.AIRLOCK_HEARTBEAT_MS, freshMs: env.AIRLOCK_LOST_AFTER_MS / 2 });
  lifecycle.defer("heartbeat", () => heart.stop());
  const feeder = createFeeder(
    parts,
    proved.map(({ provider }) => provider.name),
  );
  lifecycle.defer("feeder", () => feeder.stop());
  const leases = createLeaseBook({ db, workerId, host: env.AIRLOCK_WORKER_HOST });
  const rested = createRestedLeases({ leases, log: parts.log });
  lifecycle.defer("rested leases", () => rested.close());
  const sandboxes = {
    leases,
    rested,
    metrics: createWorkerMetrics(registry, () => running.count, env.AIRLOCK_CONCURRENCY),
    environments: createTaskEnvironments(parts),
  };
  const providers = proved.map(({ provider }) => provider);
  const throughput = startThroughput(parts);
  lifecycle.defer("throughput", () => throughput.stop());
  const provisioning = provisioningOf(env, parts);
  lifecycle.defer("provisioning", () => provisioning.close());
  return {
    ...parts,
    ...sandboxes,
    provisioning,
    functions: createFunctionTools({ ...parts, ...sandboxes, providers }),
    heart,
    feeder,
    throughput,
    tools,
    policies: createPolicies(db),
    secrets: env.secrets,
    limits: {
      ...DEFAULT_GUEST_LIMITS,
      timeoutMs: env.AIRLOCK_TASK_TIMEOUT_MS,
      memoryBytes: env.AIRLOCK_TASK_MEMORY_MB * 1024 * 1024,
    },
    parkByReplay: env.AIRLOCK_PARK_BY === "replay",
    maxSnapshotBytes: MAX_SNAPSHOT_BYTES,
    store: createSegmentStore({ db, bus, workerId, onBusError: warn("bus") }),
    isOffered: (tool, taskId) => isOffered(db, tool, taskId, env.AIRLOCK_LOST_AFTER_MS),
    announceApproval: createApprovalAnnouncer({ bus, approvals, onError: warn("queue") }),
  };
}

/** Registered in this order, so that the end goes: take no more, drain, stop upkeep, say goodbye. */
async function startWork(
  env: WorkerEnv,
  context: Context,
  approvals: ApprovalQueue,
  lifecycle: Lifecycle,
  proved: readonly ProvedProvider[],
): Promise<void> {
  const { bus, running, policies, functions, feeder, heart } = context;
  const sweeper = startSweeper(context, env.AIRLOCK_LOST_AFTER_MS);
  lifecycle.defer("sweeper", () => sweeper.stop());
  const retention = startRetention(context);
  lifecycle.defer("retention", () => retention.stop());
  const reaper = await startReaper(
    context,
    proved.map(({ provider }) => provider),
    { host: env.AIRLOCK_WORKER_HOST, periodMs: env.AIRLOCK_REAP_MS, lostAfterMs: env.AIRLOCK_LOST_AFTER_MS },
  );
  lifecycle.defer("reaper", () => reaper.stop());
  const probes = await startProbes(context, proved);
  lifecycle.defer("probes", () => probes.stop());
  const indexer = startIndexer(context);
  lifecycle.defer("indexer", () => indexer.stop());
  await bus.subscribe(topics.cancel, (ids) => running.stop(ids, "cancelled"));
  await bus.subscribe(topics.wake, (ids) => running.look(ids));
  await bus.subscribe(topics.policies, (ids) => {
    policies.forget(ids);
    functions.forget(ids);
  });
  bus.onReconnect(() => {
    policies.forgetAll();
    functions.forgetAll();
  });

  const onError = (queue: string) => (error: Error) => context.log.warn({ err: error, queue }, "queue trouble");
  const expiries = approvals.consume((id) => expireApprovals(context, [id]), onError("approvals"));
  lifecycle.defer("expiries", () => expiries.close());
  const consumers = proved.map((one) => {
    const { provider } = one;
    const process = createTaskProcessor(context, one, () => feeder.noteClaim());
    return context.queues.consume(provider.name, process, {
      concurrency: env.AIRLOCK_CONCURRENCY,
      onError: onError(provider.name),
    });
  });
  const drain = async (): Promise<void> => {
    heart.drain();
    const patience = setTimeout(() => running.stopAll("drain"), env.AIRLOCK_DRAIN_MS);
    await Promise.all(consumers.map((consumer) => consumer.close()));
    clearTimeout(patience);
  };
  lifecycle.defer("running tasks", drain, { timeoutMs: env.AIRLOCK_DRAIN_MS + 10_000 });
}

if (process.argv.includes("--help")) {
  process.stdout.write(HELP);
} else {
  main().catch((error: unknown) => {
    process.stderr.write(
      `airlock worker: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  });
}
