import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "@airlock/shared/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

interface Started {
  readonly child: ChildProcess;
  output(): string;
  readonly exited: Promise<unknown[]>;
}

let base: string;
let home: string;
let port: number;
let children: ChildProcess[] = [];

beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), "airlock-start-"));
  home = path.join(base, "home");
  port = await freePort();
});

afterEach(async () => {
  for (const child of children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  children = [];
  await rm(base, { recursive: true, force: true });
});

function launch(env: Record<string, string> = {}, args: string[] = []): Started {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, "main.ts"), ...args], {
    env: { PATH: process.env["PATH"], AIRLOCK_HOME: home, AIRLOCK_PORT: String(port), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
  }
  return { child, output: () => text, exited: once(child, "close") };
}

async function ready(started: Started): Promise<void> {
  const ended = started.exited.then(() => Promise.reject(new Error(`it ended:\n${started.output()}`)));
  ended.catch(() => undefined);
  const seen = expect.poll(() => started.output(), { timeout: 50_000 }).toContain("Airlock is ready");
  await Promise.race([seen, ended]);
}

async function stop(started: Started): Promise<unknown> {
  started.child.kill("SIGTERM");
  const [code] = await started.exited;
  return code;
}

/** Programs whose command line or working directory lies in this test's home or that serve its port. */
async function isServing(): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/healthz`).then(
    () => true,
    () => false,
  );
}

async function postgresPid(): Promise<string | null> {
  return readFile(path.join(home, "postgres", "postmaster.pid"), "utf8").then(
    (text) => text.split("\n")[0] ?? null,
    () => null,
  );
}

describe("npm start", () => {
  test("comes up, stops on SIGTERM with exit code 0 and nothing left, and finds its key again", async () => {
    const first = launch();
    await ready(first);
    const key = (await readFile(path.join(home, "admin-key"), "utf8")).trim();
    expect(first.output()).toContain(key);
    expect((await stat(path.join(home, "admin-key"))).mode & 0o777).toBe(0o600);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect(await stop(first), first.output()).toBe(0);
    expect(await isServing()).toBe(false);
    expect(await postgresPid()).toBeNull();

    const second = launch();
    await ready(second);
    expect(second.output()).toContain(key);
    expect(await stop(second), second.output()).toBe(0);
  });

  test("a key from the environment is used but not printed", async () => {
    const started = launch({ AIRLOCK_ADMIN_KEY: "a-key-of-the-user" });
    await ready(started);
    expect(started.output()).not.toContain("a-key-of-the-user");
    expect(await stop(started), started.output()).toBe(0);
  });

  test("when a program is killed the rest stops, with a reason and an exit code that is not 0", async () => {
    const started = launch();
    await ready(started);
    process.kill(await childRunning(started, "workers/src/main.ts"), "SIGKILL");
    const [code] = await started.exited;
    expect(code).toBe(1);
    expect(started.output()).toContain("the worker was killed by SIGKILL");
    expect(await postgresPid()).toBeNull();
  });

  test("a second start on the same home says who uses it", async () => {
    const first = launch();
    await ready(first);
    const second = launch({ AIRLOCK_PORT: String(await freePort()) });
    const [code] = await second.exited;
    expect(code).toBe(1);
    expect(second.output()).toContain(`another Airlock (pid ${first.child.pid}) uses ${home}`);
    expect(await stop(first), first.output()).toBe(0);
  });

  test("kill -9 of the whole of it does not hinder the next start", async () => {
    const first = launch();
    await ready(first);
    first.child.kill("SIGKILL");
    await first.exited;
    const second = launch();
    await ready(second);
    expect(await stop(second), second.output()).toBe(0);
    expect(await postgresPid()).toBeNull();
  });
});

describe("what is said without starting", () => {
  test("all faults of the environment at once", async () => {
    const started = launch({ AIRLOCK_PORT: "many", DATABASE_URL: "mysql://x", REDIS_URL: "x" });
    const [code] = await started.exited;
    expect(code).toBe(2);
    for (const name of ["AIRLOCK_PORT", "DATABASE_URL", "REDIS_URL"]) expect(started.output()).toContain(name);
  });

  test("--help", async () => {
    const started = launch({}, ["--help"]);
    const [code] = await started.exited;
    expect(code).toBe(0);
    expect(started.output()).toContain("AIRLOCK_HOME");
  });
});

async function childRunning(started: Started, script: string): Promise<number> {
  const pids = await readFile(`/proc/${started.child.pid}/task/${started.child.pid}/children`, "utf8");
  for (const pid of pids.trim().split(" ")) {
    if ((await readFile(`/proc/${pid}/cmdline`, "utf8")).includes(script)) return Number(pid);
  }
  throw new Error(`no child runs ${script}`);
}
