import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SET_POLICY } from "../../../testing/operations.ts";
import { startOn, startTestGateway, type TestGateway } from "../../../testing/gateway.ts";
import { tellOfProviders } from "../../../testing/providers.ts";

let folder: string;
let gateway: TestGateway;
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "airlock-config-"));
  gateway = await startTestGateway();
  await tellOfProviders(gateway.db);
});
afterAll(async () => {
  await gateway.stop();
  await rm(folder, { recursive: true });
});

/** A gateway that starts with this configuration, as the next deployment would; for as long as `look` takes. */
async function deploy(config: object, look: (next: TestGateway) => Promise<void> = async () => {}): Promise<void> {
  const configFile = path.join(folder, `airlock.${(files += 1)}.config.ts`);
  await writeFile(configFile, `export default ({ defineConfig }) => defineConfig(${JSON.stringify(config)});\n`);
  const next = await startOn(gateway.databaseUrl, { configFile });
  try {
    await look(next);
  } finally {
    await next.stop();
  }
}

const STATE = `{ environments { name source active revision } toolPolicies { id pattern mode source createdBy } }`;

async function state(): Promise<{ environments: { name: string }[]; toolPolicies: { id: string }[] }> {
  return gateway.admin.data(STATE);
}

async function traces(): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::integer as n from audit_log`.execute(gateway.db);
  return rows[0]?.n ?? -1;
}

const BOX = { provider: "boxes", config: { image: "one" }, languages: ["JAVASCRIPT"] };

test("what the file says holds, what it ceases to say goes, and the API refuses what it says", async () => {
  await gateway.admin.data(SET_POLICY, { pattern: "by.api", mode: "DENY" });
  const first = {
    environments: { filed: BOX },
    defaultEnvironment: "filed",
    policies: { "a.*": "DENY", "b.c": { mode: "REQUIRED", approvalMs: 60_000 } },
    limits: { retentionDays: 7 },
  };
  await deploy(first);
  const { environments, toolPolicies } = await state();
  expect(environments).toContainEqual({ name: "filed", source: "CONFIG", active: true, revision: 1 });
  expect(toolPolicies).toMatchObject([
    { pattern: "by.api", source: "API" },
    { pattern: "a.*", mode: "DENY", source: "CONFIG", createdBy: "airlock.config.ts" },
    { pattern: "b.c", mode: "REQUIRED", source: "CONFIG" },
  ]);
  for (const [query, variables] of [
    [SET_POLICY, { pattern: "a.*", mode: "AUTO" }],
    ["mutation ($id: ID!) { removeToolPolicy(id: $id) }", { id: toolPolicies[1]?.id }],
    ["mutation { setRetention(days: 3) { id } }", {}],
    ["mutation { setDefaultEnvironment(name: null) { id } }", {}],
    ['mutation { deactivateEnvironment(name: "filed") { name } }', {}],
  ] as const) {
    const failure = await gateway.admin.failure(query, variables);
    expect(failure).toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("airlock.config.ts") as string,
    });
  }

  const before = await traces();
  await deploy(first);
  expect(await traces(), "the same file changes nothing").toBe(before);

  await deploy({ environments: { filed: { ...BOX, config: { image: "two" } } }, policies: { "a.*": "AUTO" } });
  const second = await state();
  expect(second.environments).toContainEqual({ name: "filed", source: "CONFIG", active: true, revision: 2 });
  expect(second.toolPolicies).toMatchObject([{ pattern: "by.api" }, { pattern: "a.*", mode: "AUTO" }]);
  await gateway.admin.data("mutation { setRetention(days: 3) { id } }");

  await deploy({});
  const last = await state();
  expect(last.environments).toContainEqual({ name: "filed", source: "API", active: false, revision: 2 });
  expect(last.toolPolicies).toMatchObject([{ pattern: "by.api" }]);
  const { setRetention } = await gateway.admin.data<{ setRetention: object }>(
    "mutation { setRetention(days: 4) { retentionDays defaultEnvironment } }",
  );
  expect(setRetention).toEqual({ retentionDays: 4, defaultEnvironment: "isolate" });
});

test("the file takes up what the API made, and a gateway that started before knows of it", async () => {
  const create = "mutation ($input: CreateEnvironmentInput!) { createEnvironment(input: $input) { name } }";
  await gateway.admin.data(create, { input: { name: "taken", provider: "boxes" } });
  await deploy({ environments: { taken: BOX }, defaultEnvironment: "taken" }, async () => {
    const submit = 'mutation { submitTask(input: {code: "1", language: JAVASCRIPT}) { environment } }';
    const ask = () => gateway.admin.data(submit);
    await expect.poll(ask, { timeout: 30_000 }).toEqual({ submitTask: { environment: "taken" } });
  });
  expect((await state()).environments).toContainEqual({ name: "taken", source: "CONFIG", active: true, revision: 2 });
  await deploy({});
});

test.each([
  [{ environments: { isolate: BOX } }, /environments\.isolate/],
  [{ environments: { bad: { ...BOX, config: { imag: 1 } } } }, /environments\.bad\.config: does not fit/],
  [{ environments: { bad: { provider: "unheard" } } }, /environments\.bad\.languages: name them/],
  [{ policies: { "a b": "AUTO" } }, /policies/],
  [{ policies: { a: "NEVER" } }, /policies\.a/],
  [{ defaultEnvironment: "none" }, /defaultEnvironment: there is no active environment "none"/],
  [{ polices: {} }, /polices/],
  [{ project: "01890000-0000-7000-8000-000000000000" }, /project: there is no project/],
])("a gateway does not start with what cannot be: %j", async (config, message) => {
  const before = await traces();
  await expect(deploy(config)).rejects.toThrow(message);
  expect(await traces()).toBe(before);
});
