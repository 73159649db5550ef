import { mkdir, realpath } from "node:fs/promises";
import path from "node:path";
import { keepSecret } from "../keep-secret.ts";
import { type Account, chooseAccount } from "./account.ts";
import { findBinaries } from "./binaries.ts";

/** Everything that is settled before Postgres runs. */
export type Site = {
  home: string;
  dataDir: string;
  logFile: string;
  binDir: string;
  account: Account;
  user: string;
  password: string;
  environment: NodeJS.ProcessEnv;
  /** How the data folder is named to a process that was started with it as working directory. */
  dataArgument: (folder: string) => string;
};

export async function prepareSite(wantedHome: string, packageFolder?: string): Promise<Site> {
  await mkdir(wantedHome, { recursive: true, mode: 0o700 });
  const home = await realpath(wantedHome);
  const dataDir = path.join(home, "postgres");
  const account = await chooseAccount(dataDir);
  return {
    home,
    dataDir,
    logFile: path.join(home, "postgres.log"),
    binDir: await findBinaries(home, account, packageFolder),
    account,
    user: "airlock",
    password: await keepSecret(path.join(home, "postgres-password")),
    environment: { LC_ALL: "C", TZ: "UTC", PGTZ: "UTC" },
    // As root the home is private and the server runs as another uid, which may not walk down to its own folder. It
    // need not: the working directory is entered before the uid is dropped, and this name leads straight to it.
    dataArgument: (folder) => (account !== null && process.platform === "linux" ? "/proc/self/cwd" : folder),
  };
}

export function connectionUrl(site: Site, port: number, database: string): string {
  return `postgres://${site.user}:${site.password}@127.0.0.1:${port}/${database}`;
}
