import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  describeNeeding,
  type GitServer,
  type NpmRegistry,
  startGitServer,
  startNpmRegistry,
} from "@airlock/shared/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { approve, askedOnce } from "./decisions.ts";
import { type Rig, startRig, type Tenant } from "./rig.ts";
import { ended, run, submit } from "./tasks.ts";

const CREATE = "mutation ($input: CreateEnvironmentInput!) { createEnvironment(input: $input) { name } }";
const COMMIT = "query ($id: ID!) { task(id: $id) { commit dependencies } }";
const SECRET = "canary-of-the-team-9137";

describeNeeding(["bwrap", "root"], "what is provided for a task", () => {
  let rig: Rig | undefined;
  let tenant: Tenant;
  let registry: NpmRegistry;
  let server: GitServer;
  const cache = mkdtempSync(path.join(tmpdir(), "airlock-provided-"));
  const publish = (version: string): void =>
    registry.publish({ name: "left", version, files: { "index.js": `exports.version = "${version}"` } });
  const commit = (text: string): string => {
    writeFileSync(path.join(server.tree, "data.txt"), text);
    return server.push();
  };
  beforeAll(async () => {
    [registry, server] = await Promise.all([startNpmRegistry(), startGitServer()]);
    server.password = SECRET;
    const env = {
      AIRLOCK_SANDBOXES: "isolate,process",
      AIRLOCK_CACHE: cache,
      AIRLOCK_NPM_REGISTRY: registry.url,
      AIRLOCK_HTTP_ALLOW: server.host,
      AIRLOCK_GIT_CREDENTIALS: `TEAM=http://${server.host}/`,
      AIRLOCK_SECRET_TEAM: SECRET,
    };
    rig = await startRig("Postgres alone", { workers: 2, env });
    tenant = await rig.tenant();
  });
  afterAll(async () => {
    await rig?.stop();
    await Promise.all([registry.close(), server.close()]);
    rmSync(cache, { recursive: true });
  });

  it("is the same after an approval, whatever was published and pushed meanwhile, and no secret is seen", async () => {
    publish("1.0.0");
    const before = commit("before");
    const repository = { url: server.url, ref: "main", credential: "TEAM" };
    const provision = "cat data.txt > made.txt; env > environment.txt";
    const input = { name: "prepared", provider: "process", repository, provision, dependencies: { left: "^1.0.0" } };
    await tenant.api(CREATE, { input });
    const code = `import { version } from "left"; import fs from "node:fs"; import { execSync } from "node:child_process";
      const seen = () => [version, fs.readFileSync("data.txt", "utf8"), fs.readFileSync("made.txt", "utf8")];
      const first = seen();
      fs.appendFileSync("data.txt", " and changed");
      await tools.ledger.send({ to: "ann" });
      const canaries = execSync("grep -rl canary-of /work /tmp /proc/self/environ 2>/dev/null; true").toString();
      return { first, later: seen(), canaries, environment: fs.readFileSync("environment.txt", "utf8") };`;
    const id = await submit(tenant.api, { code, language: "JAVASCRIPT", environment: "prepared", timeoutMs: 60_000 });
    const approval = await askedOnce(tenant.api, id);
    publish("1.1.0");
    commit("after");
    await approve(tenant.api, approval);
    const task = await ended(tenant.api, id);
    expect(task).toMatchObject({ status: "SUCCEEDED", error: null, segments: 2 });
    const { environment, ...output } = task.output as Record<string, string>;
    expect(output).toEqual({
      first: ["1.0.0", "before", "before"],
      later: ["1.0.0", "before and changed", "before"],
      canaries: "",
    });
    expect(environment).not.toMatch(/canary|DATABASE_URL|AIRLOCK/);
    expect(await tenant.api(COMMIT, { id })).toMatchObject({ task: { commit: before } });
    const everything = await (rig as Rig).query(
      "select t::text, e::text from tasks t join events e on e.task_id = t.id union all select d::text, '' from environment_revisions d",
    );
    expect(JSON.stringify(everything)).not.toContain(SECRET);
  });

  it("packages that the task names are there in the built-in environment, and their failure has its code", async () => {
    const code = 'import { version } from "left"; return version';
    const fields = { language: "JAVASCRIPT", environment: "process", timeoutMs: 60_000 };
    const good = await run(tenant.api, code, { ...fields, dependencies: { left: "1.0.0" } });
    expect(good).toMatchObject({ status: "SUCCEEDED", output: "1.0.0" });
    const bad = await run(tenant.api, code, { ...fields, dependencies: { left: "^7" } });
    expect(bad).toMatchObject({
      status: "FAILED",
      error: { code: "PROVISION_FAILED", message: expect.stringContaining("ETARGET") as string },
    });
  });

  it("packages for the isolate are refused at once, and the environments that take them are named", async () => {
    for (const fields of [{}, { environment: "process", language: "BASH" }]) {
      const refused = submit(tenant.api, { code: "return 1", dependencies: { left: "1" }, ...fields });
      await expect(refused).rejects.toMatchObject({
        code: "BAD_INPUT",
        message: expect.stringMatching(/these take them: process, .*prepared|BASH cannot import/) as string,
      });
    }
  });
});
