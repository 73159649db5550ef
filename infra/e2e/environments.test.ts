import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeOnEachBackend, type Rig, startRig, type Tenant } from "./rig.ts";
import { run } from "./tasks.ts";

const CREATE = `mutation ($input: CreateEnvironmentInput!) { createEnvironment(input: $input) { name } }`;
const PROBE = `mutation ($name: String!) {
  probeEnvironment(name: $name) { available reason workerId isolation { level provider } } }`;

const TOOL = `export default ({ defineTool, z }) =>
  defineTool({ path: "filed.hello", description: "Says hello.", input: z.strictObject({}), policy: "auto", run: async () => "hello" });`;

describeOnEachBackend("environments", (backend) => {
  let rig: Rig | undefined;
  let tenant: Tenant;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "airlock-config-"));
    await writeFile(path.join(folder, "hello.mjs"), TOOL);
    const config = path.join(folder, "airlock.config.mjs");
    await writeFile(config, 'export default { tools: ["./hello.mjs"], policies: { "filed.*": "AUTO" } };\n');
    rig = await startRig(backend, { env: { AIRLOCK_CONFIG: config } });
    tenant = await rig.tenant();
  });
  afterAll(async () => {
    await rig?.stop();
    await rm(folder, { recursive: true });
  });

  const create = (name: string, fields: object = {}) =>
    tenant.api(CREATE, { input: { name, provider: "isolate", ...fields } });

  it("are checked with what the workers have published, and proved by one of them", async () => {
    const { providers } = await tenant.api<{ providers: object[] }>("{ providers { name available languages } }");
    expect(providers).toContainEqual({
      name: "isolate",
      available: true,
      languages: ["JAVASCRIPT", "TYPESCRIPT"],
    });
    await expect(create("bad", { config: { anything: 1 } })).rejects.toMatchObject({ code: "BAD_INPUT" });
    await create("proved");
    const available = { available: true, reason: null, isolation: { level: "wasm", provider: "isolate" } };
    for (const name of ["proved", "isolate"]) {
      expect(await tenant.api(PROBE, { name })).toMatchObject({ probeEnvironment: available });
    }
  });

  it("hold what they limit, and a task tells which revision it ran in", async () => {
    await create("small", { limits: { memoryBytes: 24 * 1024 * 1024 } });
    const code = "const all = []; for (;;) all.push(new Uint8Array(1024 * 1024).fill(1));";
    const task = await run(tenant.api, code, { environment: "small", timeoutMs: 60_000 });
    expect(task).toMatchObject({ status: "FAILED", error: { code: "OUT_OF_MEMORY" } });
    const { task: told } = await tenant.api<{ task: object }>(
      "query ($id: ID!) { task(id: $id) { environment environmentRevision leases { id } } }",
      { id: task.id },
    );
    // The isolate's sandboxes end with their worker: nobody needs to remember them.
    expect(told).toEqual({ environment: "small", environmentRevision: 1, leases: [] });
  });

  it("of the configuration file bring its tools", async () => {
    const task = await run((rig as Rig).api, "return await tools.filed.hello({})");
    expect(task).toMatchObject({ status: "SUCCEEDED", output: "hello" });
  });
});
