import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { createTestDatabase, freePort, type TestDatabase } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "..");
const run = promisify(execFile);
let database: TestDatabase;

beforeAll(async () => {
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
  await run(path.join(ROOT, "node_modules/.bin/turbo"), ["run", "build"], { cwd: ROOT, env });
  database = await createTestDatabase();
}, 120_000);

afterAll(() => database.drop());

describe("what the images run", () => {
  test("is there after a build", () => {
    const entries = [
      "gateway/dist/main.js",
      "gateway/dist/migrate.js",
      "workers/dist/main.js",
      "workers/dist/guests/python/agent.py",
    ];
    expect(entries.filter((entry) => !existsSync(path.join(ROOT, entry)))).toEqual([]);
  });

  test("the migration ends by itself, also when there is nothing to do", async () => {
    const child = start("gateway/dist/migrate.js", {});
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test.each([
    { name: "gateway", entry: "gateway/dist/main.js", variable: "AIRLOCK_PORT" },
    { name: "worker", entry: "workers/dist/main.js", variable: "AIRLOCK_HEALTH_PORT" },
  ])("the built $name becomes ready and ends with 0 on SIGTERM", async ({ entry, variable }) => {
    const port = await freePort();
    const child = start(entry, { [variable]: String(port), AIRLOCK_ADMIN_KEY: "a-key-for-the-build" });
    try {
      const status = (): Promise<number> =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          (answer) => answer.status,
          () => 0,
        );
      await expect.poll(status, { timeout: 30_000, interval: 100 }).toBe(200);
    } finally {
      child.kill("SIGTERM");
    }
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

function start(entry: string, env: Record<string, string>): ChildProcess {
  // The environment of an image: nothing of ours but what is given.
  const given = {
    PATH: process.env["PATH"],
    NODE_ENV: "production",
    AIRLOCK_LOG: "warn",
    DATABASE_URL: database.url,
    ...env,
  };
  return spawn(process.execPath, ["--conditions=built", entry], {
    cwd: ROOT,
    env: given,
    stdio: ["ignore", "ignore", "inherit"],
  });
}
