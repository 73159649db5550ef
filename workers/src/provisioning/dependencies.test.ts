import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { listEvents } from "@airlock/shared/db";
import { type NpmRegistry, startNpmRegistry } from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { inEnvironment, makeEnvironment } from "../../testing/environment.ts";
import { openProvisioning, TEST_BOUNDS, type TestProvisioning } from "../../testing/provisioning.ts";
import { createScriptedProvider, type ScriptedProvider } from "../../testing/scripted-provider.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import { runSegment } from "../runner/run-segment.ts";
import type { ProvisioningOptions } from "./provisioning.ts";

let worker: TestWorker;
let registry: NpmRegistry;
let provider: ScriptedProvider;
const opened: TestProvisioning[] = [];
beforeAll(async () => {
  [worker, registry] = await Promise.all([openTestWorker(), startNpmRegistry()]);
  registry.publish({ name: "left", version: "1.0.0", files: { "index.js": "exports.is = '1.0.0'" } });
  registry.publish({
    name: "@team/deep",
    version: "2.1.0",
    files: { "index.js": "exports.left = require('left').is" },
    manifest: { dependencies: { left: "^1.0.0" } },
  });
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.remove()));
  await registry.close();
  await worker.close();
});
beforeEach(() => {
  provider = createScriptedProvider();
});

function open(options: Partial<ProvisioningOptions> = {}): TestProvisioning {
  const one = openProvisioning(worker, { registry: registry.url, ...options });
  opened.push(one);
  return one;
}

let count = 0;
async function submit(dependencies: Record<string, string>, own: Record<string, string> = {}): Promise<string> {
  const row = await makeEnvironment(worker, `packages-${(count += 1)}`, { dependencies: own });
  return worker.submit({ ...inEnvironment(row), dependencies: JSON.stringify(dependencies) });
}

async function run(id: string, provisioning: TestProvisioning): Promise<void> {
  await sql`update tasks set run_at = null, queue_expires_at = null where id = ${id}`.execute(worker.context.db);
  await runSegment({ ...worker.context, provisioning }, provider, await worker.claim(id));
}

/** What the program of the task's last run finds at `/work/node_modules`. */
const modules = (at = -1): string => {
  const [layer] = provider.asked.at(at)?.layers ?? [];
  expect(layer?.target).toBe("/work/node_modules");
  return layer?.source ?? "";
};
const versionIn = async (folder: string, name: string) =>
  (JSON.parse(await readFile(path.join(folder, name, "package.json"), "utf8")) as { version: string }).version;

describe("npm packages", () => {
  it("are installed with what they need, read by everyone, the task's range above the environment's", async () => {
    registry.publish({ name: "two", version: "1.0.0" });
    registry.publish({ name: "two", version: "2.0.0" });
    const id = await submit({ "@team/deep": "^2.0.0", two: "^2.0.0" }, { two: "^1.0.0" });
    await run(id, open());
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", error_message: null });
    expect(await versionIn(modules(), "left")).toBe("1.0.0");
    expect(await versionIn(modules(), "two")).toBe("2.0.0");
  });

  it("of many tasks at once are installed once", async () => {
    registry.publish({ name: "once", version: "1.0.0" });
    const provisioning = open();
    const ids = await Promise.all(Array.from({ length: 8 }, () => submit({ once: "1" })));
    await Promise.all(ids.map((id) => run(id, provisioning)));
    expect(new Set(provider.asked.map(({ layers }) => layers[0]?.source)).size).toBe(1);
    expect(registry.fetched("once")).toBe(1);
    await run(await submit({ once: "1" }), provisioning);
    expect(registry.fetched("once")).toBe(1);
  });

  it("are the same in every run of a task, on any machine, whatever is published meanwhile", async () => {
    registry.publish({ name: "moving", version: "1.0.0" });
    const id = await submit({ moving: "^1.0.0" });
    provider.outcome = { kind: "lost", reason: "a test" };
    await run(id, open());
    registry.publish({ name: "moving", version: "1.1.0" });
    provider.outcome = { kind: "returned", output: null };
    await run(id, open());
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", segments: 2 });
    expect(await Promise.all([versionIn(modules(0), "moving"), versionIn(modules(1), "moving")])).toEqual([
      "1.0.0",
      "1.0.0",
    ]);
    const later = await submit({ moving: "^1.0.0" });
    await run(later, open());
    expect(await versionIn(modules(), "moving")).toBe("1.1.0");
  });

  it("run nothing when they are installed", async () => {
    const canary = path.join(open().folder, "canary");
    const touch = `touch ${canary} $INIT_CWD/canary node_modules/canary`;
    registry.publish({
      name: "eager",
      version: "1.0.0",
      files: { "binding.gyp": "{}" },
      manifest: { scripts: { preinstall: touch, install: touch, postinstall: touch, prepare: touch } },
    });
    const id = await submit({ eager: "*" });
    await run(id, open());
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED" });
    expect(existsSync(canary)).toBe(false);
    expect((await readdir(modules())).toSorted()).toEqual([".package-lock.json", "eager"]);
  });

  it.each([
    ["git", "git+http://127.0.0.1:9/x.git"],
    ["a tarball elsewhere", "http://127.0.0.1:9/x.tgz"],
    ["a folder of the worker", "file:/etc"],
  ])("whose own dependencies come from %s are not installed", async (_, range) => {
    const name = `wants-${(count += 1)}`;
    registry.publish({ name, version: "1.0.0", manifest: { dependencies: { inner: range } } });
    const id = await submit({ [name]: "1" });
    await run(id, open());
    expect(await worker.task(id)).toMatchObject({
      error_code: "PROVISION_FAILED",
      error_message: expect.stringMatching(/npm exited with code 1: code EALLOW/) as string,
    });
    expect(provider.asked).toEqual([]);
  });

  it("whose archive or name leads out of its folder put nothing there", async () => {
    const provisioning = open();
    registry.publish({ name: "climber", version: "1.0.0", files: { "../../../climbed": "x", "../climbed": "x" } });
    const id = await submit({ climber: "1" });
    await run(id, provisioning);
    for (const { parentPath, name } of await readdir(provisioning.folder, { recursive: true, withFileTypes: true })) {
      expect(name === "climbed" && !parentPath.endsWith("/climber")).toBe(false);
    }
  });

  it("that are not there fail the task with npm's own words", async () => {
    const id = await submit({ "no-such-package": "1" });
    await run(id, open());
    const { error_code, error_message } = await worker.task(id);
    expect(error_code).toBe("PROVISION_FAILED");
    expect(error_message).toMatch(/npm exited with code 1: .*E404.*404 Not Found/);
  });

  it("that take too long or too much fail the task, and nothing of them stays", async () => {
    registry.publish({ name: "huge", version: "1.0.0", files: { big: randomBytes(6 * 1024 ** 2).toString("base64") } });
    const [slow, small] = [
      open({ bounds: { ...TEST_BOUNDS, timeoutMs: 1 } }),
      open({ bounds: { ...TEST_BOUNDS, bytes: 4 * 1024 ** 2 } }),
    ];
    for (const [provisioning, why] of [
      [slow, "longer than 1 ms"],
      [small, "more than 4194304 bytes"],
    ] as const) {
      const id = await submit({ huge: "1" });
      await run(id, provisioning);
      expect((await worker.task(id)).error_message).toContain(why);
      expect(await readdir(path.join(provisioning.folder, "building"))).toEqual([]);
      expect(await readdir(path.join(provisioning.folder, "layers")).catch(() => [])).toEqual([]);
    }
  });

  it("come from a registry that asks for a token, which nobody else ever sees", async () => {
    const token = "npm-canary-token-0451";
    registry.token = token;
    const at = registry.url.replace("http:", "");
    const provisioning = open({ userConfig: `${at}:_authToken=${token}\n`, redacted: [token] });
    const [good, bad] = await Promise.all([submit({ left: "1" }), submit({ left: "1", "no-such": "1" })]);
    await run(good, provisioning);
    await run(bad, provisioning);
    registry.token = null;
    expect(await worker.task(good)).toMatchObject({ status: "SUCCEEDED" });
    expect(await worker.task(bad)).toMatchObject({ error_code: "PROVISION_FAILED" });
    expect(await everythingTold([good, bad], provisioning)).not.toContain(token);
  });

  it("are not waited for by a task that is cancelled, nor installed when nobody waits any more", async () => {
    registry.publish({ name: "unwanted", version: "1.0.0" });
    const provisioning = open();
    const id = await submit({ unwanted: "1" });
    const claimed = await worker.claim(id);
    const running = runSegment({ ...worker.context, provisioning }, provider, claimed);
    worker.context.running.stop([id], "cancelled");
    await running;
    expect(await worker.task(id)).toMatchObject({ status: "CANCELLED" });
    expect(provider.asked).toEqual([]);
  });

  it("are not for a task that another worker has taken over", async () => {
    const id = await submit({ left: "1" });
    const claimed = await worker.claim(id);
    await sql`update tasks set segments = segments + 1 where id = ${id}`.execute(worker.context.db);
    await runSegment({ ...worker.context, provisioning: open() }, provider, claimed);
    expect(await worker.task(id)).toMatchObject({ status: "RUNNING", lock_hash: null });
    expect(provider.asked).toEqual([]);
  });
});

/** Rows, events, and every file that was kept. */
async function everythingTold(ids: readonly string[], { folder }: TestProvisioning): Promise<string> {
  const { db } = worker.context;
  const rows = await Promise.all(ids.map((id) => worker.task(id)));
  const events = await Promise.all(ids.map((id) => listEvents(db, id, { after: 0, limit: 100 })));
  const locks = await db.selectFrom("locks").selectAll().execute();
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const texts = files.map((entry) => readFile(path.join(entry.parentPath, entry.name), "latin1"));
  return JSON.stringify([rows, events, locks, await Promise.all(texts)]);
}
