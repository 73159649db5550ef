import { stat } from "node:fs/promises";

/** Who the Postgres processes run as; null means: as we do. */
export type Account = { uid: number; gid: number } | null;

// "nobody" on Linux. macOS has it at -2, but any number without rights of its own will do.
const unprivileged = 65534;

/** Postgres refuses to run as root. A data folder that exists keeps its owner, else its files would be unreadable. */
export async function chooseAccount(dataDir: string): Promise<Account> {
  const self = process.getuid?.();
  const owner = await stat(dataDir).catch(() => null);
  if (self === 0) {
    if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
    return { uid: unprivileged, gid: unprivileged };
  }
  if (owner !== null && self !== undefined && owner.uid !== self) {
    throw new Error(
      `${dataDir} belongs to uid ${owner.uid}, we run as ${self}; start as its owner or set AIRLOCK_HOME`,
    );
  }
  return null;
}
