import { createTestDatabase, type Fleet, startFleet } from "@airlock/shared/testing";
import { type Client, createClient } from "../src/index.ts";

/** A real gateway and a real worker, with keys to speak to them. */
export interface ClientRig {
  readonly url: string;
  readonly fleet: Fleet;
  /** A project of its own, so that tests side by side do not share tasks, policies or approvals. */
  tenant(): Promise<Tenant>;
  stop(): Promise<void>;
}

export interface Tenant {
  readonly key: string;
  readonly client: Client;
  /** Calls of the tool wait for a person from now on. */
  readonly hold: (toolPath: string) => Promise<void>;
  /** Calls of the tool run without being asked about from now on. */
  readonly allow: (toolPath: string) => Promise<void>;
}

/** `env`: for gateway and worker. */
export async function startClientRig(env: Readonly<Record<string, string>> = {}): Promise<ClientRig> {
  const database = await createTestDatabase();
  const parts = { databaseUrl: database.url, redisUrl: null, env };
  const fleet = await startFleet(parts).catch(async (error: unknown) => {
    await database.drop();
    throw error;
  });
  return {
    url: fleet.url,
    fleet,
    tenant: () => makeTenant(fleet),
    async stop() {
      await fleet.stop();
      await database.drop();
    },
  };
}

let tenants = 0;

async function makeTenant({ api, url }: Fleet): Promise<Tenant> {
  const { createProject } = await api<{ createProject: { id: string } }>(
    "mutation ($name: String!) { createProject(name: $name, selfApproval: true) { id } }",
    { name: `tenant ${++tenants}` },
  );
  const { createApiKey } = await api<{ createApiKey: { secret: string } }>(
    'mutation ($projectId: ID!) { createApiKey(projectId: $projectId, name: "owner", scopes: ["admin"]) { secret } }',
    { projectId: createProject.id },
  );
  const key = createApiKey.secret;
  const setPolicy = (mode: string) => (toolPath: string) => setToolPolicy({ url, key, pattern: toolPath, mode });
  return { key, client: createClient({ url, key }), hold: setPolicy("REQUIRED"), allow: setPolicy("AUTO") };
}

interface Policy {
  readonly url: string;
  readonly key: string;
  readonly pattern: string;
  readonly mode: string;
}

async function setToolPolicy({ url, key, pattern, mode }: Policy): Promise<void> {
  const query =
    "mutation ($pattern: String!, $mode: PolicyMode!) { setToolPolicy(pattern: $pattern, mode: $mode) { id } }";
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const body = JSON.stringify({ query, variables: { pattern, mode } });
  const response = await fetch(`${url}/graphql`, { method: "POST", headers, body });
  const { errors } = (await response.json()) as { errors?: unknown };
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
}
