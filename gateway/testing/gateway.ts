import { createTestDatabase } from "@airlock/shared/testing";
import { type Backend, chooseBackend, prepareBackend } from "@airlock/shared/queue";
import { type StoreEnv, storeEnv } from "@airlock/shared/files";
import { createLifecycle, createLogger, parseEnvWith } from "@airlock/shared/runtime";
import { type Database, openDatabase } from "@airlock/shared/db";
import { startGateway } from "../src/start.ts";
import { z } from "zod";
import { type Client, createClient } from "./client.ts";

export const ADMIN_KEY = "admin-key-of-the-tests";

export interface TestGateway {
  readonly url: string;
  readonly databaseUrl: string;
  /** A look at what is stored, past the API. */
  readonly db: Database;
  /** With the admin key of the default project. */
  readonly admin: Client;
  client(key: string | null): Client;
  /** A project of its own, with a key of the given scopes. */
  tenant(
    name: string,
    scopes?: readonly string[],
  ): Promise<{ projectId: string; key: string; keyId: string; client: Client }>;
  /** One more key of a project. */
  key(
    projectId: string,
    name: string,
    scopes: readonly string[],
  ): Promise<{ key: string; keyId: string; client: Client }>;
  stop(): Promise<void>;
}

export interface TestGatewayOptions {
  readonly redisUrl?: string | null;
  /** Leaves out the start-up check of the queue, which a dead Redis would not pass. */
  readonly unprepared?: boolean;
  readonly requestTimeoutMs?: number;
  readonly streamsPerKey?: number;
  readonly configFile?: string;
  readonly corsOrigins?: readonly string[];
  /** Where files are; absent: in a folder that is never made, so only small ones can be taken in. */
  readonly store?: Partial<StoreEnv>;
}

/** The real gateway on a database of its own, on a free loopback port. */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const database = await createTestDatabase();
  const gateway = await startOn(database.url, options);
  return {
    ...gateway,
    async stop() {
      await gateway.stop();
      await database.drop();
    },
  };
}

/** One more gateway on a database that is there already. */
export async function startOn(databaseUrl: string, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const log = createLogger({ program: "gateway-test", level: "silent" });
  const lifecycle = createLifecycle({ log });
  const redisUrl = options.redisUrl ?? null;
  const env = {
    databaseUrl,
    redisUrl,
    host: "127.0.0.1",
    port: 0,
    adminKey: ADMIN_KEY,
    streamsPerKey: options.streamsPerKey ?? 1_000,
    corsOrigins: new Set(options.corsOrigins),
    logLevel: "silent" as const,
    configFile: options.configFile ?? null,
    store: { ...parseEnvWith(z.object(storeEnv), { AIRLOCK_ARTIFACTS: "/dev/null" }), ...options.store },
  };
  const backend: Backend = chooseBackend(env);
  if (options.unprepared !== true) await prepareBackend(backend);
  const { requestTimeoutMs } = options;
  const parts = { env, backend, log, lifecycle, ...(requestTimeoutMs !== undefined && { requestTimeoutMs }) };
  const server = await startGateway(parts).catch(async (error: unknown) => {
    await lifecycle.shutdown("test");
    throw error;
  });
  const db = openDatabase({ url: databaseUrl, poolSize: 2, program: "gateway-test", onError: () => undefined });
  const url = `http://127.0.0.1:${server.port}`;
  const client = (key: string | null): Client => createClient(url, key);
  const admin = client(ADMIN_KEY);
  return {
    url,
    databaseUrl,
    db,
    admin,
    client,
    tenant: (name, scopes = ["admin"]) => makeTenant(admin, client, name, scopes),
    key: (projectId, name, scopes) => makeKey(admin, client, { projectId, name, scopes }),
    async stop() {
      await lifecycle.shutdown("test");
      await db.destroy();
    },
  };
}

async function makeTenant(admin: Client, client: (key: string) => Client, name: string, scopes: readonly string[]) {
  const { createProject } = await admin.data<{ createProject: { id: string } }>(
    "mutation ($name: String!) { createProject(name: $name) { id } }",
    { name },
  );
  const key = await makeKey(admin, client, { projectId: createProject.id, name: "k", scopes });
  return { projectId: createProject.id, ...key };
}

const MAKE_KEY =
  "mutation ($projectId: ID!, $name: String!, $scopes: [String!]!) { createApiKey(projectId: $projectId, name: $name, scopes: $scopes) { id secret } }";

async function makeKey(
  admin: Client,
  client: (key: string) => Client,
  fields: { projectId: string; name: string; scopes: readonly string[] },
) {
  const { createApiKey } = await admin.data<{ createApiKey: { id: string; secret: string } }>(MAKE_KEY, fields);
  return { key: createApiKey.secret, keyId: createApiKey.id, client: client(createApiKey.secret) };
}
