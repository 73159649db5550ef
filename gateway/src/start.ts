import { createBus } from "@airlock/shared/bus";
import { loadConfig } from "@airlock/shared/config";
import { topics } from "@airlock/shared/contracts";
import { ensureAdminKey, ensureBootstrapProject, openDatabase } from "@airlock/shared/db";
import { BUILT_IN_PROVIDERS } from "@airlock/shared/domain";
import { chooseStore, createFiles } from "@airlock/shared/files";
import { type Backend, createApprovalQueue, createTaskQueues } from "@airlock/shared/queue";
import { createHealthRoutes, createMetricsRegistry, type Lifecycle, type Logger } from "@airlock/shared/runtime";
import { createAdmission } from "./admission.ts";
import { createAnnouncer } from "./announcer.ts";
import type { App } from "./context.ts";
import { createDecisions } from "./decisions.ts";
import type { GatewayEnv } from "./env.ts";
import { createEnvironmentCache } from "./environment-cache.ts";
import { createAuthenticator } from "./http/authenticate.ts";
import { hashKey } from "./http/key-hash.ts";
import { type GatewayServer, serve } from "./http/server.ts";
import { startLive } from "./live/index.ts";
import { createStreams } from "./live/streams.ts";
import { createGatewayMetrics } from "./metrics.ts";
import { applyConfig } from "./use-cases/apply-config/index.ts";
import { schema } from "./schema/index.ts";

export interface GatewayParts {
  readonly env: GatewayEnv;
  readonly backend: Backend;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  readonly requestTimeoutMs?: number;
}

/** Builds the gateway on a migrated database and serves. What it opens is released by the lifecycle, in reverse. */
export async function startGateway({
  env,
  backend,
  log,
  lifecycle,
  requestTimeoutMs,
}: GatewayParts): Promise<GatewayServer> {
  const onError = (part: string) => (error: Error) => log.warn({ err: error, part }, "a connection failed");
  const db = openDatabase({
    url: env.databaseUrl,
    poolSize: 10,
    program: "airlock-gateway",
    onError: onError("database"),
  });
  lifecycle.defer("database", () => db.destroy());
  await ensureAdmin(env.adminKey);

  const queues = createTaskQueues(backend, onError("queue"));
  lifecycle.defer("queues", () => queues.close());
  const approvals = createApprovalQueue(backend, onError("approval queue"));
  lifecycle.defer("approval queue", () => approvals.close());
  const bus = createBus(backend, onError("bus"));
  lifecycle.defer("bus", () => bus.close());
  const admission = createAdmission({ db, queues, bus, log });
  lifecycle.defer("enqueueing", () => admission.settle());
  const announcer = createAnnouncer({ queues, approvals, bus, log });
  lifecycle.defer("announcing", () => announcer.settle());

  const store = chooseStore(env.store);
  // Small files and all else go on without it.
  store.check().catch((error: unknown) => log.warn({ err: error }, "large files cannot be kept"));
  const authenticator = createAuthenticator(db);
  const registry = createMetricsRegistry("gateway");
  const streams = createStreams(env.streamsPerKey);
  const metrics = createGatewayMetrics(registry, () => streams.count());
  const live = await startLive({ db, bus, log, streams, onFellBehind: () => metrics.fellBehind() });
  lifecycle.defer("live", () => live.stop());
  const forgetKeys = (keyIds: readonly string[]): void => {
    authenticator.forget(keyIds);
    streams.revoke(keyIds);
  };
  await bus.subscribe(topics.revoked, forgetKeys);
  const environments = createEnvironmentCache(db);
  await bus.subscribe(topics.environments, (projectIds) => environments.forget(projectIds));
  bus.onReconnect(() => {
    authenticator.forgetAll();
    environments.forgetAll();
  });

  const health = createHealthRoutes({
    checks: {
      database: async () => void (await db.selectNoFrom((eb) => eb.val(1).as("one")).execute()),
      queue: () => queues.ping(BUILT_IN_PROVIDERS),
      bus: () => bus.ping(),
    },
    registry,
    stopping: lifecycle.stopping,
  });
  const app: App = {
    db,
    bus,
    files: createFiles(db, store),
    log,
    admission,
    announcer,
    decisions: createDecisions({ db, announcer }),
    environments,
    live,
    metrics,
    forgetKeys,
  };
  const loaded = await loadConfig(env.configFile);
  if (loaded !== null) await applyConfig(app, loaded);
  const listen = { host: env.host, port: env.port, ...(requestTimeoutMs !== undefined && { requestTimeoutMs }) };
  const server = await serve({ app, schema, authenticator, health, corsOrigins: env.corsOrigins }, listen);
  lifecycle.defer("http", () => server.close(), { timeoutMs: 20_000 });
  return server;

  async function ensureAdmin(adminKey: string | null): Promise<void> {
    const project = await ensureBootstrapProject(db);
    if (adminKey !== null) await ensureAdminKey(db, project.id, hashKey(adminKey));
  }
}
