import { newId } from "@airlock/shared/contracts";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../../testing/client.ts";
import { startOn, startTestGateway, type TestGateway } from "../../../testing/gateway.ts";
import { SUBMIT, SUBMIT_BATCH } from "../../../testing/operations.ts";
import { tellOfProviders } from "../../../testing/providers.ts";

const FIELDS = `name source active isDefault revision provider config limits { memoryBytes pids cpus } provision
  repository { url ref credential } dependencies leasePolicy retainMs languages network`;
const CREATE = `mutation ($input: CreateEnvironmentInput!) { createEnvironment(input: $input) { ${FIELDS} } }`;
const UPDATE = `mutation ($name: String!, $input: UpdateEnvironmentInput!) {
  updateEnvironment(name: $name, input: $input) { ${FIELDS} } }`;
const DEACTIVATE = "mutation ($name: String!) { deactivateEnvironment(name: $name) { active revision } }";
const SET_DEFAULT = "mutation ($name: String) { setDefaultEnvironment(name: $name) { defaultEnvironment } }";
const SET_SESSION = `mutation ($session: String!, $name: String) {
  setSessionEnvironment(session: $session, name: $name) { name } }`;
const SUBMITTED = "mutation ($input: SubmitTaskInput!) { submitTask(input: $input) { id environment } }";
const RELEASE = "mutation ($id: ID!) { releaseLease(id: $id) { state } }";

let gateway: TestGateway;
let tenants = 0;
beforeAll(async () => {
  gateway = await startTestGateway();
  await tellOfProviders(gateway.db);
});
afterAll(() => gateway.stop());

const tenant = () => gateway.tenant(`tenant ${(tenants += 1)}`);
const create = (client: Client, name: string, fields: object = {}) =>
  client.data<{ createEnvironment: object }>(CREATE, { input: { name, provider: "boxes", ...fields } });

async function environmentOf(client: Client, input: object): Promise<string> {
  const wish = { code: "return 1", language: "JAVASCRIPT", ...input };
  const { submitTask } = await client.data<{ submitTask: { environment: string } }>(SUBMITTED, { input: wish });
  return submitTask.environment;
}

describe("an environment", () => {
  test("is what was asked for, with every default filled in, and is listed beside the built-in one", async () => {
    const { client } = await tenant();
    const { createEnvironment } = await create(client, "data", {
      config: { image: "x", extra: null },
      limits: { memoryBytes: 2 ** 33, pids: null },
      repository: { url: "https://git.example/a.git" },
    });
    expect(createEnvironment).toEqual({
      name: "data",
      source: "API",
      active: true,
      isDefault: false,
      revision: 1,
      provider: "boxes",
      config: { image: "x", extra: null },
      limits: { memoryBytes: 2 ** 33, pids: null, cpus: null },
      provision: null,
      repository: { url: "https://git.example/a.git", ref: "HEAD", credential: null },
      dependencies: {},
      leasePolicy: "EPHEMERAL",
      retainMs: 3600_000,
      languages: ["JAVASCRIPT", "PYTHON"],
      network: "NONE",
    });
    const { environments } = await client.data<{ environments: { name: string }[] }>("{ environments { name } }");
    expect(environments.map(({ name }) => name)).toEqual(expect.arrayContaining(["isolate", "data"]));
  });

  test.each([
    [{ provider: "nothing" }, /provider: there is no provider "nothing"; the workers have: boxes, isolate/],
    [{ config: { imag: "x" } }, /config: does not fit the provider "boxes".*imag/s],
    [{ limits: { pids: 0 } }, /limits\.pids/],
    [{ languages: ["BASH"] }, /languages: the provider "boxes" cannot run BASH/],
    [{ languages: [] }, /languages/],
    [{ provider: "isolate", provision: "make", limits: { pids: 5 } }, /limits\.pids: needs a work area.*provision/s],
    [{ provider: "isolate", leasePolicy: "RETAIN_ON_FAILURE" }, /leasePolicy: the provider "isolate" cannot keep/],
    [
      { provider: "isolate", leasePolicy: "REUSE_BY_SESSION" },
      /leasePolicy: .*"isolate" cannot use .* again; use EPHEM/,
    ],
    [{ name: "isolate" }, /name: belongs to a built-in environment/],
    [{ name: "No Such" }, /name: must be/],
    [{ provision: "a\0b" }, /provision/],
    [{ retainMs: 5 }, /retainMs/],
  ])("is refused with what is wrong: %j", async (fields, message) => {
    const failure = await gateway.admin.failure(CREATE, { input: { name: "bad", provider: "boxes", ...fields } });
    expect(failure).toMatchObject({ code: "BAD_INPUT", message: expect.stringMatching(message) as string });
  });

  test("may leave a session's sandbox to its next task where its provider can", async () => {
    const { client } = await tenant();
    const { createEnvironment } = await create(client, "shared", { leasePolicy: "REUSE_BY_SESSION", retainMs: 60_000 });
    expect(createEnvironment).toMatchObject({ leasePolicy: "REUSE_BY_SESSION", retainMs: 60_000 });
  });

  test("changes by revisions, of which none is lost, and every change leaves a trace", async () => {
    const { client, projectId } = await tenant();
    await create(client, "e", { provision: "make", limits: { pids: 5 } });
    const update = (input: object) => client.data(UPDATE, { name: "e", input });
    expect(await update({ limits: { cpus: 2 }, provision: null })).toMatchObject({
      updateEnvironment: { revision: 2, limits: { pids: null, cpus: 2 }, provision: null },
    });
    expect(await update({ limits: { cpus: 2 } })).toMatchObject({ updateEnvironment: { revision: 2 } });
    await Promise.all([3, 4, 5].map((pids) => update({ limits: { pids } })));
    expect(await client.data(DEACTIVATE, { name: "e" })).toMatchObject({
      deactivateEnvironment: { active: false, revision: 5 },
    });
    expect(await update({ active: true })).toMatchObject({ updateEnvironment: { active: true, revision: 5 } });
    const { rows } = await sql<{ action: string }>`
      select action from audit_log where project_id = ${projectId} and action like 'environment.%' order by id
    `.execute(gateway.db);
    expect(rows.map(({ action }) => action)).toEqual([
      "environment.created",
      ...Array.from({ length: 5 }, () => "environment.updated"),
      "environment.deactivated",
      "environment.updated",
    ]);
    const { rows: kept } = await sql<{ revision: number }>`
      select r.revision from environment_revisions r join environments e on e.id = r.environment_id
      where e.project_id = ${projectId} order by 1
    `.execute(gateway.db);
    expect(kept.map(({ revision }) => revision)).toEqual([1, 2, 3, 4, 5]);
  });

  test("has a name once in a project, and another project's is not there", async () => {
    const [mine, theirs] = [await tenant(), await tenant()];
    await create(mine.client, "same");
    const again = { input: { name: "same", provider: "boxes" } };
    expect(await mine.client.failure(CREATE, again)).toMatchObject({ code: "CONFLICT" });
    expect(await theirs.client.data('{ environment(name: "same") { name } }')).toEqual({ environment: null });
    for (const name of ["same", "never", "\0"]) {
      expect(await theirs.client.failure(DEACTIVATE, { name })).toMatchObject({ code: "NOT_FOUND" });
      const wish = { input: { code: "1", environment: name } };
      expect(await theirs.client.failure(SUBMIT, wish)).toMatchObject({ code: "BAD_INPUT" });
    }
    await create(theirs.client, "same");
    expect(await mine.client.failure(DEACTIVATE, { name: "isolate" })).toMatchObject({ code: "CONFLICT" });
  });

  test("that a configuration file defines is not changed by the API", async () => {
    const { client, projectId } = await tenant();
    await create(client, "filed");
    await sql`update environments set source = 'CONFIG' where project_id = ${projectId}`.execute(gateway.db);
    for (const [query, variables] of [
      [DEACTIVATE, { name: "filed" }],
      [UPDATE, { name: "filed", input: { provision: "make" } }],
    ] as const) {
      const failure = await client.failure(query, variables);
      expect(failure).toMatchObject({
        code: "CONFLICT",
        message: expect.stringContaining("airlock.config.ts") as string,
      });
    }
  });
});

describe("a task gets", () => {
  test("its own environment before its session's, its session's before the project's, the project's before isolate", async () => {
    const { client } = await tenant();
    for (const name of ["of-task", "of-session", "of-project"]) await create(client, name);
    expect(await environmentOf(client, {})).toBe("isolate");
    await client.data(SET_DEFAULT, { name: "of-project" });
    await client.data(SET_SESSION, { session: "s", name: "of-session" });
    expect(await environmentOf(client, {})).toBe("of-project");
    expect(await environmentOf(client, { session: "other" })).toBe("of-project");
    expect(await environmentOf(client, { session: "s" })).toBe("of-session");
    expect(await environmentOf(client, { session: "s", environment: "of-task" })).toBe("of-task");
    expect(await client.data(SET_SESSION, { session: "s", name: null })).toEqual({
      setSessionEnvironment: { name: "of-project" },
    });
    expect(await client.failure(DEACTIVATE, { name: "of-project" })).toMatchObject({ code: "CONFLICT" });
    await client.data(SET_DEFAULT, { name: null });
    expect(await environmentOf(client, { session: "s" })).toBe("isolate");
  });

  test("in a batch, each its own", async () => {
    const { client, projectId } = await tenant();
    await create(client, "mine");
    await client.data(SET_SESSION, { session: "s", name: "mine" });
    const tasks = [{ session: "s" }, { environment: "mine" }, {}].map((task) => ({
      code: "return 1",
      language: "JAVASCRIPT",
      ...task,
    }));
    await client.data(SUBMIT_BATCH, { input: { tasks } });
    const { rows } = await sql<{ environment: string; provider: string }>`
      select environment, provider from tasks where project_id = ${projectId} order by id
    `.execute(gateway.db);
    expect(rows).toEqual([
      { environment: "mine", provider: "boxes" },
      { environment: "mine", provider: "boxes" },
      { environment: "isolate", provider: "isolate" },
    ]);
  });

  test("no environment that is deactivated, or that cannot run its language", async () => {
    const { client } = await tenant();
    await create(client, "python", { languages: ["PYTHON"] });
    const submit = (input: object) => client.failure(SUBMIT, { input: { code: "1", environment: "python", ...input } });
    expect((await submit({})).message).toMatch(/language: the environment "python" cannot run TYPESCRIPT/);
    await client.data(DEACTIVATE, { name: "python" });
    expect((await submit({ language: "PYTHON" })).message).toMatch(/environment: .*deactivated/);
    expect(await client.failure(SET_DEFAULT, { name: "python" })).toMatchObject({ code: "CONFLICT" });
    expect(await client.failure(SET_DEFAULT, { name: "none" })).toMatchObject({ code: "BAD_INPUT" });
  });

  test("an environment that another gateway made a moment ago", async () => {
    const other = await startOn(gateway.databaseUrl);
    try {
      const { client, key } = await tenant();
      expect(await environmentOf(other.client(key), {})).toBe("isolate");
      await create(client, "fresh");
      expect(await environmentOf(other.client(key), { environment: "fresh" })).toBe("fresh");
    } finally {
      await other.stop();
    }
  });

  test("the same task again for the same request, whatever the default is by then", async () => {
    const { client } = await tenant();
    await create(client, "d");
    const input = { code: "return 1", language: "JAVASCRIPT", idempotencyKey: "k" };
    const first = await client.data<{ submitTask: object }>(SUBMITTED, { input });
    await client.data(SET_DEFAULT, { name: "d" });
    expect(await client.data(SUBMITTED, { input })).toEqual(first);
  });

  test("the same task again, also where its environment takes no tasks any more; another payload is refused", async () => {
    const { client } = await tenant();
    await create(client, "closing");
    const input = { code: "return 1", language: "JAVASCRIPT", environment: "closing", idempotencyKey: "k" };
    const first = await client.data<{ submitTask: object }>(SUBMITTED, { input });
    await client.data(DEACTIVATE, { name: "closing" });
    expect(await client.data(SUBMITTED, { input })).toEqual(first);
    for (const other of [{ code: "return 2" }, { idempotencyKey: "l" }, { idempotencyKey: "\0" }]) {
      expect(await client.failure(SUBMITTED, { input: { ...input, ...other } })).toMatchObject({ code: "BAD_INPUT" });
    }
  });

  test("on a retry, its environment as it is now; a deactivated one is a conflict", async () => {
    const { client } = await tenant();
    await create(client, "again");
    const input = { code: "return 1", language: "JAVASCRIPT", environment: "again" };
    const { submitTask } = await client.data<{ submitTask: { id: string } }>(SUBMITTED, { input });
    await client.data("mutation ($id: ID!) { cancelTask(id: $id) { id } }", { id: submitTask.id });
    const retry = "mutation ($id: ID!) { retryTask(id: $id) { environment } }";
    expect(await client.data(retry, { id: submitTask.id })).toEqual({ retryTask: { environment: "again" } });
    await client.data(DEACTIVATE, { name: "again" });
    expect(await client.failure(retry, { id: submitTask.id })).toMatchObject({ code: "CONFLICT" });
  });
});

test("providers are what live workers say, with the reason where they failed", async () => {
  const { providers } = await gateway.admin.data<{ providers: object[] }>(
    "{ providers { name available reason isolation { level } languages keptBy workArea retains reuses configSchema } }",
  );
  expect(providers).toMatchObject([
    { name: "boxes", available: true, reason: null, isolation: { level: "process" }, retains: true, reuses: true },
    { name: "isolate", available: true, workArea: false, reuses: false },
  ]);
  await sql`update workers set state = 'STOPPED'`.execute(gateway.db);
  await tellOfProviders(gateway.db, "no engine here");
  const query = "{ providers { name available reason isolation { level } } }";
  const after = await gateway.admin.data<{ providers: object[] }>(query);
  expect(after.providers[0]).toEqual({ name: "boxes", available: false, reason: "no engine here", isolation: null });
  const { client } = await tenant();
  await create(client, "unproved");
  expect(await client.data('mutation { probeEnvironment(name: "unproved") { available reason } }')).toEqual({
    probeEnvironment: { available: false, reason: 'no live worker has the provider "boxes": no engine here' },
  });
  await sql`delete from workers`.execute(gateway.db);
  await tellOfProviders(gateway.db);
});

describe("leases", () => {
  async function lease(projectId: string, state: string): Promise<string> {
    const id = newId();
    await sql`
      insert into leases (id, project_id, environment, provider, worker_id, host, state, policy)
      values (${id}, ${projectId}, 'e', 'boxes', ${newId()}, 'h', ${state}, 'RETAIN_ON_FAILURE')
    `.execute(gateway.db);
    return id;
  }

  test("are listed by state, and a retained one can be given up, by its project alone", async () => {
    const [mine, theirs] = [await tenant(), await tenant()];
    const [kept, active] = [await lease(mine.projectId, "RETAINED"), await lease(mine.projectId, "ACTIVE")];
    const listed = await mine.client.data<{ leases: object[] }>("{ leases(state: [RETAINED]) { id state } }");
    expect(listed.leases).toEqual([{ id: kept, state: "RETAINED" }]);
    expect(await theirs.client.data("{ leases { id } }")).toEqual({ leases: [] });
    expect(await theirs.client.failure(RELEASE, { id: kept })).toMatchObject({ code: "NOT_FOUND" });
    expect(await mine.client.failure(RELEASE, { id: active })).toMatchObject({ code: "CONFLICT" });
    expect(await mine.client.data(RELEASE, { id: kept })).toEqual({ releaseLease: { state: "PENDING_CLEANUP" } });
    expect(await mine.client.data(RELEASE, { id: kept })).toEqual({ releaseLease: { state: "PENDING_CLEANUP" } });
    const { rows } = await sql`select from audit_log where subject = ${kept}`.execute(gateway.db);
    expect(rows.length).toBe(1);
  });
});
