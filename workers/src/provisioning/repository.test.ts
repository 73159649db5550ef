import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { listEvents } from "@airlock/shared/db";
import type { EnvironmentDefinition } from "@airlock/shared/domain";
import { describeNeeding, type GitServer, startGitServer } from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { inEnvironment, makeEnvironment } from "../../testing/environment.ts";
import { openProvisioning, TEST_BOUNDS, type TestProvisioning } from "../../testing/provisioning.ts";
import { createScriptedProvider, type ScriptedProvider } from "../../testing/scripted-provider.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { runSegment } from "../runner/run-segment.ts";
import type { ProvisioningOptions } from "./provisioning.ts";

const SECRET = "git-canary-secret-2501";
let worker: TestWorker;
let server: GitServer;
let provider: ScriptedProvider;
const opened: TestProvisioning[] = [];
const write = (name: string, text: string): void => {
  mkdirSync(path.dirname(path.join(server.tree, name)), { recursive: true });
  writeFileSync(path.join(server.tree, name), text);
};
beforeAll(async () => {
  [worker, server] = await Promise.all([openTestWorker(), startGitServer()]);
  write("src/main.js", "console.log('main')");
  write("run.sh", "#!/bin/sh\n");
  chmodSync(path.join(server.tree, "run.sh"), 0o755);
  server.push();
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.remove()));
  await server.close();
  await worker.close();
});
beforeEach(() => {
  provider = createScriptedProvider();
  server.password = null;
});

function open(options: Partial<ProvisioningOptions> = {}): TestProvisioning {
  const one = openProvisioning(worker, { allowPrivate: new Set([server.host]), ...options });
  opened.push(one);
  return one;
}

let count = 0;
type Given = Partial<Pick<EnvironmentDefinition, "provision">> & {
  readonly ref?: string;
  readonly url?: string;
  readonly credential?: string;
};
async function submit({ provision = null, ref = "HEAD", url = server.url, credential }: Given = {}): Promise<string> {
  const repository = { url, ref, credential: credential ?? null };
  const row = await makeEnvironment(worker, `cloned-${(count += 1)}`, { repository, provision });
  return worker.submit(inEnvironment(row));
}

async function run(id: string, provisioning: TestProvisioning): Promise<void> {
  await runSegment({ ...worker.context, provisioning }, provider, await worker.claim(id));
}

/** What the work area of the task's last run begins with. */
const files = (at = -1): string => {
  const [layer] = provider.asked.at(at)?.layers ?? [];
  expect(layer?.target).toBe("/work");
  return layer?.source ?? "";
};

describe("a repository", () => {
  it("is what the work area begins with: its files, without what belongs to git", async () => {
    const id = await submit();
    await run(id, open());
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", error_message: null });
    expect((await worker.task(id)).commit_hash).toMatch(/^[0-9a-f]{40}$/);
    expect((await readdir(files(), { recursive: true })).toSorted()).toEqual(["run.sh", "src", "src/main.js"]);
    expect((await stat(path.join(files(), "run.sh"))).mode & 0o777).toBe(0o755);
  });

  it("is the same in every run of a task, on any machine, wherever its branch is meanwhile", async () => {
    write("moving", "before");
    const before = server.push("moving");
    const id = await submit({ ref: "moving" });
    provider.outcome = { kind: "lost", reason: "a test" };
    await run(id, open());
    write("moving", "after");
    server.git("checkout", "--quiet", "--orphan", "other");
    server.push("moving");
    server.git("checkout", "--quiet", "main");
    provider.outcome = { kind: "returned", output: null };
    await run(id, open());
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", commit_hash: before, segments: 2 });
    expect(await readFile(path.join(files(1), "moving"), "utf8")).toBe("before");
    await run(await submit({ ref: "moving" }), open());
    expect(await readFile(path.join(files(), "moving"), "utf8")).toBe("after");
  });

  it("is named by a tag, also one that is an object of its own, by a branch, and by a commit", async () => {
    const commit = server.push("named/branch");
    server.git("tag", "plain");
    server.git("tag", "--annotate", "--message=x", "annotated");
    server.git("push", "--quiet", server.repository, "--tags");
    const provisioning = open();
    for (const ref of ["plain", "annotated", "named/branch", commit]) {
      const id = await submit({ ref });
      await run(id, provisioning);
      expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", commit_hash: commit });
    }
  });

  it("gives no links that lead out of it, and runs neither filters, hooks nor submodules of it", async () => {
    const canary = path.join(server.tree, "..", "canary");
    rmSync(path.join(server.tree, "moving"), { force: true });
    symlinkSync("/etc", path.join(server.tree, "absolute"));
    symlinkSync("../../../../../../etc/passwd", path.join(server.tree, "climbing"));
    mkdirSync(path.join(server.tree, "a/b"), { recursive: true });
    write("a/b/kept", "x");
    symlinkSync("../..", path.join(server.tree, "a/b/up"));
    symlinkSync("a/b/up/../../../x", path.join(server.tree, "winding"));
    symlinkSync("a/b/kept", path.join(server.tree, "inside"));
    write(".gitattributes", "* filter=evil\n");
    write(".lfsconfig", `[lfs]\n\turl = http://${server.host}/lfs\n`);
    write(".gitmodules", `[submodule "m"]\n\tpath = m\n\turl = ${server.url}\n\tupdate = !touch ${canary}\n`);
    server.push("strange");
    const id = await submit({ ref: "strange" });
    await run(id, open());
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED" });
    const found = await readdir(files());
    expect(found.toSorted()).toEqual([".gitattributes", ".gitmodules", ".lfsconfig", "a", "inside", "run.sh", "src"]);
    expect((await readdir(path.join(files(), "a/b"))).toSorted()).toEqual(["kept", "up"]);
    expect(existsSync(canary)).toBe(false);
  });

  it("that is not there, or has no such branch, fails the task with what git says", async () => {
    const provisioning = open();
    const cases = [
      [{ ref: "no-such-branch" }, 'no branch, tag or commit "no-such-branch"'],
      [{ ref: "0".repeat(40) }, "git exited with code 128"],
      [{ url: `http://${server.host}/other.git` }, "not found"],
    ] as const;
    for (const [given, says] of cases) {
      const id = await submit(given);
      await run(id, provisioning);
      expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "WORKSPACE_FAILED" });
      expect((await worker.task(id)).error_message).toContain(says);
    }
    expect(provider.asked).toEqual([]);
  });

  it("at an address that is not public is not asked, unless the operator says so", async () => {
    const asked = server.authorizations.length;
    for (const [url, says] of [
      [server.url, "only https"],
      [server.url.replace("http:", "https:"), "not on the public internet"],
    ] as const) {
      const id = await submit({ url });
      await run(id, open({ allowPrivate: new Set() }));
      expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "WORKSPACE_FAILED" });
      expect((await worker.task(id)).error_message).toContain(says);
    }
    expect(server.authorizations.length).toBe(asked);
  });
});

describe("a credential", () => {
  const held = () => ({
    credentials: [{ name: "TEAM", prefix: `http://${server.host}/` }],
    secrets: new Map([
      ["TEAM", SECRET],
      ["OTHER", "another-canary"],
    ]),
    redacted: [SECRET],
  });

  it("opens its repository, and is in no row, event, message, argument or file", async () => {
    server.password = SECRET;
    const provisioning = open(held());
    const [good, missing] = await Promise.all([
      submit({ credential: "TEAM" }),
      submit({ credential: "TEAM", ref: "none" }),
    ]);
    await Promise.all([good, missing].map((id) => run(id, provisioning)));
    expect(await worker.task(good)).toMatchObject({ status: "SUCCEEDED", error_message: null });
    const told = await everythingTold([good, missing], provisioning);
    expect(told).not.toContain(SECRET);
    expect(told).not.toContain(Buffer.from(`x-access-token:${SECRET}`).toString("base64"));
  });

  it("is sent nowhere else, whatever an environment says", async () => {
    const provisioning = open(held());
    server.authorizations.length = 0;
    for (const given of [
      { credential: "OTHER" },
      { credential: "NONE" },
      { credential: "TEAM", url: `http://${server.host.replace("127.0.0.1", "localhost")}/team.git` },
    ]) {
      const id = await submit(given);
      await run(id, provisioning);
      expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "WORKSPACE_FAILED" });
      expect((await worker.task(id)).error_message).toContain("this worker has no credential");
    }
    expect(server.authorizations).toEqual([]);
  });

  it("that is wrong or absent fails the task, also where another environment's task has fetched the same commit", async () => {
    server.password = SECRET;
    const provisioning = open(held());
    await run(await submit({ credential: "TEAM" }), provisioning);
    const id = await submit();
    await run(id, provisioning);
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "WORKSPACE_FAILED" });
    expect((await worker.task(id)).error_message).toContain("terminal prompts disabled");
  });
});

describeNeeding("bwrap", "a provision command", () => {
  it("prepares the work area once for each revision, commit and lock, with Node and npm at hand", async () => {
    const provisioning = open();
    const provision = "node -e 'console.log(1)' && npm --version && cat src/main.js > made && date +%N > when && id -u";
    const row = await makeEnvironment(worker, "prepared", { repository: { url: server.url }, provision });
    const ids = await Promise.all([1, 2, 3].map(() => worker.submit(inEnvironment(row))));
    await Promise.all(ids.map((id) => run(id, provisioning)));
    for (const id of ids) expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", error_message: null });
    expect(new Set([0, 1, 2].map(files)).size).toBe(1);
    expect(await readFile(path.join(files(), "made"), "utf8")).toBe("console.log('main')");
  });

  it("that fails tells its exit code and the first line of what it said", async () => {
    const provisioning = open();
    const row = await makeEnvironment(worker, "failing", {
      provision: "echo $HOME; echo first >&2; echo more >&2; exit 7",
    });
    const id = await worker.submit(inEnvironment(row));
    await run(id, provisioning);
    expect(await worker.task(id)).toMatchObject({
      error_code: "PROVISION_FAILED",
      error_message: "the provision command failed with exit code 7: first",
    });
    expect(await readdir(path.join(provisioning.folder, "building"))).toEqual([]);
  });

  it("sees nothing of the worker: no variable, file or process, and no rights", async () => {
    process.env["AIRLOCK_SECRET_CANARY"] = "canary-in-the-environment";
    const provision = [
      "env > env",
      "(cat /proc/*/environ /proc/*/cmdline | tr '\\0' ' ') > processes 2>/dev/null",
      `ls / ${process.cwd()} ${worker.context.workerId} /root /home /var /run > files 2>&1`,
      "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status > rights; touch /usr/mine 2>> files; true",
    ].join("; ");
    const row = await makeEnvironment(worker, "curious", { provision });
    const id = await worker.submit(inEnvironment(row));
    await run(id, open());
    delete process.env["AIRLOCK_SECRET_CANARY"];
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", error_message: null });
    const seen = async (name: string) => readFile(path.join(files(), name), "utf8");
    for (const name of ["env", "processes"]) expect(await seen(name)).not.toContain("canary");
    expect(await seen("processes")).not.toContain("vitest");
    expect(await seen("files")).not.toMatch(/package\.json|authorized_keys|docker/);
    expect(await seen("rights")).toMatch(/CapEff:\t0{16}\nCapBnd:\t0{16}\nNoNewPrivs:\t1/);
    expect(existsSync("/usr/mine")).toBe(false);
  });

  it("is ended with all that it started when its time is up", async () => {
    const provisioning = open({ bounds: { ...TEST_BOUNDS, timeoutMs: 3_000 } });
    const provision = "(setsid sleep 987654 &) ; trap '' TERM; sleep 987654";
    const id = await worker.submit(inEnvironment(await makeEnvironment(worker, "endless", { provision })));
    await run(id, provisioning);
    expect((await worker.task(id)).error_message).toContain("it took longer than 3000 ms");
    expect(await sleepers()).toBe(0);
  });

  it("is not run without walls, nor where the operator does not want it", async () => {
    const row = await makeEnvironment(worker, "bare", { provision: "true" });
    const id = await worker.submit(inEnvironment(row));
    await run(id, open({ bubblewrap: null }));
    expect((await worker.task(id)).error_message).toContain("no bubblewrap");
    const off = await worker.submit(inEnvironment(row));
    await run(off, open({ commands: false }));
    expect((await worker.task(off)).error_message).toContain("turned them off");
  });
});

async function sleepers(): Promise<number> {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(all.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes("987654")).length;
}

/** Rows, events, and every file that was kept. */
async function everythingTold(ids: readonly string[], { folder }: TestProvisioning): Promise<string> {
  const { db } = worker.context;
  const rows = await Promise.all(ids.map((id) => worker.task(id)));
  const events = await Promise.all(ids.map((id) => listEvents(db, id, { after: 0, limit: 100 })));
  const { rows: environments } = await sql`select * from environment_revisions`.execute(db);
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const texts = entries.map((entry) => readFile(path.join(entry.parentPath, entry.name), "latin1"));
  return JSON.stringify([rows, events, environments, await Promise.all(texts)]);
}
