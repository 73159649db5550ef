import { execFile } from "node:child_process";
import { chown, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { isAlive } from "./process-table.ts";
import type { Site } from "./site.ts";

const run = promisify(execFile);

/** Makes the database cluster on first use. A start that dies in the middle leaves only a draft, never half a cluster. */
export async function createCluster(site: Site): Promise<void> {
  if (await exists(site)) return;
  await removeDrafts(site);
  const draft = await mkdtemp(`${site.dataDir}.draft-${process.pid}-`);
  if (site.account !== null) await chown(draft, site.account.uid, site.account.gid);
  await initdb(site, draft);
  // Of two first starts one rename wins, and the other goes on with the winner's cluster.
  await rename(draft, site.dataDir).catch(async (cause: unknown) => {
    await rm(draft, { recursive: true, force: true });
    if (await exists(site)) return;
    throw new Error(`${site.dataDir} is in the way: it is no Postgres data folder`, { cause });
  });
}

function exists(site: Site): Promise<boolean> {
  return stat(path.join(site.dataDir, "PG_VERSION")).then(
    () => true,
    () => false,
  );
}

async function initdb(site: Site, folder: string): Promise<void> {
  // The password travels in a file, because arguments are visible to every user of the machine.
  const secret = await mkdtemp(path.join(tmpdir(), "airlock-init-"));
  try {
    const file = path.join(secret, "password");
    await writeFile(file, site.password, { mode: 0o600 });
    if (site.account !== null) {
      for (const item of [file, secret]) await chown(item, site.account.uid, site.account.gid);
    }
    // The builtin provider sorts alike on every operating system and after every library upgrade.
    const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
    const access = [`--username=${site.user}`, `--pwfile=${file}`, "--auth=scram-sha-256", "--no-instructions"];
    await run(path.join(site.binDir, "initdb"), ["-D", site.dataArgument(folder), ...locale, ...access], {
      cwd: folder,
      env: site.environment,
      ...site.account,
    });
  } catch (cause) {
    const { stderr } = cause as { stderr?: string };
    await rm(folder, { recursive: true, force: true });
    throw new Error(`initdb failed: ${stderr?.trim() || (cause as Error).message}`, { cause });
  } finally {
    await rm(secret, { recursive: true, force: true });
  }
}

async function removeDrafts(site: Site): Promise<void> {
  const prefix = `${path.basename(site.dataDir)}.draft-`;
  for (const name of await readdir(site.home)) {
    if (!name.startsWith(prefix)) continue;
    const maker = Number(name.slice(prefix.length).split("-")[0]);
    if (!isAlive(maker)) await rm(path.join(site.home, name), { recursive: true, force: true });
  }
}
