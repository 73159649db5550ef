import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_KEY, startOn, startTestGateway, type TestGateway } from "../../testing/gateway.ts";

let gateway: TestGateway;
let second: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  second = await startOn(gateway.databaseUrl);
});
afterAll(async () => {
  await second.stop();
  await gateway.stop();
});

const REVOKE = "mutation ($id: ID!) { revokeApiKey(id: $id) { id revokedAt secret } }";

test("a secret is shown once and only its hash is stored", async () => {
  const tenant = await gateway.tenant("secretive");
  expect(tenant.key).toMatch(/^alk_[\w-]{43}$/);
  const { rows } = await sql<{ text: string }>`
    select coalesce(string_agg(k::text, ''), '') || (select coalesce(string_agg(a::text, ''), '') from audit_log a) as text from api_keys k
  `.execute(gateway.db);
  expect(rows[0]?.text).not.toContain(tenant.key);
  expect(rows[0]?.text).not.toContain(ADMIN_KEY);
});

test("a revoked key stops working at once, on every gateway; revoking again changes nothing", async () => {
  const tenant = await gateway.tenant("revoked");
  await tenant.client.data("{ __typename }");
  await second.client(tenant.key).data("{ __typename }");
  const first = await gateway.admin.data<{ revokeApiKey: { revokedAt: string; secret: null } }>(REVOKE, {
    id: tenant.keyId,
  });
  expect(first.revokeApiKey).toMatchObject({ revokedAt: expect.any(String), secret: null });
  expect((await tenant.client.send("{ __typename }")).status).toBe(401);
  await expect
    .poll(async () => (await second.client(tenant.key).send("{ __typename }")).status, { timeout: 20_000 })
    .toBe(401);
  expect(await gateway.admin.data(REVOKE, { id: tenant.keyId })).toEqual(first);
});

test("an admin of a project revokes its keys and makes new ones, for itself only", async () => {
  const tenant = await gateway.tenant("self-ruled");
  const make =
    'mutation ($id: ID, $scopes: [String!]!) { createApiKey(projectId: $id, name: "n", scopes: $scopes) { id secret scopes } }';
  const { createApiKey } = await tenant.client.data<{ createApiKey: { id: string; secret: string } }>(make, {
    scopes: ["read", "read"],
  });
  expect(createApiKey).toMatchObject({ scopes: ["read"] });
  await tenant.client.data(make, { id: tenant.projectId, scopes: ["submit"] });
  await gateway.client(createApiKey.secret).data("{ queueStats { running } }");
  await tenant.client.data(REVOKE, { id: createApiKey.id });
  expect((await gateway.client(createApiKey.secret).send("{ __typename }")).status).toBe(401);
  for (const scopes of [[], ["root"], ["read", "ADMIN"]])
    expect((await tenant.client.failure(make, { scopes })).code).toBe("BAD_INPUT");
});

test("names are checked", async () => {
  const make = "mutation ($name: String!) { createProject(name: $name) { id } }";
  for (const name of ["", " ", "a\0", "\ud800", "x".repeat(257)]) {
    expect((await gateway.admin.failure(make, { name })).code).toBe("BAD_INPUT");
  }
});

test("making and revoking leave their trace in the audit log", async () => {
  const tenant = await gateway.tenant("audited");
  await gateway.admin.data(REVOKE, { id: tenant.keyId });
  const { rows } =
    await sql`select action, subject, actor like 'key:%' as by_key from audit_log where project_id = ${tenant.projectId} order by id`.execute(
      gateway.db,
    );
  expect(rows).toEqual([
    { action: "project.created", subject: tenant.projectId, by_key: true },
    { action: "api_key.created", subject: tenant.keyId, by_key: true },
    { action: "api_key.revoked", subject: tenant.keyId, by_key: true },
  ]);
});
