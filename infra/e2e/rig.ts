import {
  type Api,
  createApi,
  createTestDatabase,
  describeWithRedis,
  type Fleet,
  type RedisServer,
  startFleet,
  startRedisServer,
  type TestDatabase,
} from "@airlock/shared/testing";
import pg from "pg";
import { describe } from "vitest";
import { createLedger, type Ledger } from "./ledger.ts";

export type BackendName = "Postgres alone" | "Postgres and Redis";

/** A fleet with everything around it: a database, perhaps a Redis, and tools whose effects can be counted. */
export interface Rig {
  readonly fleet: Fleet;
  readonly api: Api;
  readonly database: TestDatabase;
  readonly redis: RedisServer | null;
  readonly ledger: Ledger;
  /** A project of its own, so that tests side by side do not share policies, keys or approvals. */
  tenant(options?: { selfApproval?: boolean }): Promise<Tenant>;
  /** Past the API, for what only an accident would do. */
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

export interface Tenant {
  readonly api: Api;
  /** One more key of the project. */
  readonly key: (name: string, scopes: readonly string[]) => Promise<Api>;
}

export interface RigOptions {
  readonly workers?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Short periods, so that a lost worker is noticed within the test. */
export const QUICK = { AIRLOCK_HEARTBEAT_MS: "300", AIRLOCK_LOST_AFTER_MS: "1500" };

export async function startRig(backend: BackendName, options: RigOptions = {}): Promise<Rig> {
  const database = await createTestDatabase();
  const redis = backend === "Postgres alone" ? null : await startRedisServer();
  const ledger = await createLedger();
  const env = { ...QUICK, ...ledger.env, ...options.env };
  const clean = async (): Promise<void> => {
    await redis?.stop();
    await database.drop();
    await ledger.remove();
  };
  const parts = { databaseUrl: database.url, redisUrl: redis?.url ?? null, workers: options.workers ?? 1, env };
  const fleet = await startFleet(parts).catch(async (error: unknown) => {
    await clean();
    throw error;
  });
  return {
    fleet,
    api: fleet.api,
    database,
    redis,
    ledger,
    tenant: ({ selfApproval = true } = {}) => makeTenant(fleet, selfApproval),
    query: (text, values) => query(database.url, text, values),
    async stop() {
      await fleet.stop();
      await clean();
    },
  };
}

/** The same suite where Postgres carries queue and bus, and where Redis does. */
export function describeOnEachBackend(name: string, body: (backend: BackendName) => void): void {
  describe(`${name}, on Postgres alone`, () => body("Postgres alone"));
  describeWithRedis(`${name}, on Postgres and Redis`, () => body("Postgres and Redis"));
}

let tenants = 0;

async function makeTenant(fleet: Fleet, selfApproval: boolean): Promise<Tenant> {
  const { createProject } = await fleet.api<{ createProject: { id: string } }>(
    "mutation ($name: String!, $self: Boolean) { createProject(name: $name, selfApproval: $self) { id } }",
    { name: `tenant ${++tenants}`, self: selfApproval },
  );
  const key = async (name: string, scopes: readonly string[]): Promise<Api> => {
    const { createApiKey } = await fleet.api<{ createApiKey: { secret: string } }>(
      "mutation ($projectId: ID!, $name: String!, $scopes: [String!]!) { createApiKey(projectId: $projectId, name: $name, scopes: $scopes) { secret } }",
      { projectId: createProject.id, name, scopes },
    );
    return createApi(`${fleet.url}/graphql`, createApiKey.secret);
  };
  return { api: await key("owner", ["admin"]), key };
}

async function query(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await client.end();
  }
}
