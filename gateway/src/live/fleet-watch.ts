import { type Database, listWorkers, type QueueStats, queueStats, type WorkerRow } from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import { type Reading, Watched } from "./watched.ts";

/** The workers, and what waits for them in the caller's project. */
export interface Fleet {
  readonly workers: readonly WorkerRow[];
  readonly queueStats: QueueStats;
}

export interface FleetWatch {
  follow(projectId: string): AsyncIterable<Fleet>;
  stop(): void;
}

/** Depth changes with every task: it is read at this pace as long as somebody looks. */
const PERIOD_MS = 1_000;

export function createFleetWatch({ db, log }: { db: Database; log: Logger }): FleetWatch {
  const watched = new Map<string, Watched<Fleet>>();
  const timer = setInterval(() => {
    for (const fleet of watched.values()) fleet.refresh();
  }, PERIOD_MS);

  async function read(projectId: string): Promise<Reading<Fleet>> {
    const [workers, stats] = await Promise.all([listWorkers(db), queueStats(db, projectId)]);
    // Heartbeats alone are no news.
    const shown = workers.map((worker) => ({ ...worker, last_seen_at: null }));
    return { value: { workers, queueStats: stats }, print: JSON.stringify([shown, stats]), final: false };
  }

  return {
    follow(projectId) {
      const known = watched.get(projectId);
      if (known) return known.follow();
      const onIdle = (): void => void watched.delete(projectId);
      const fresh = new Watched({ log, gapMs: PERIOD_MS / 2, read: () => read(projectId), onIdle });
      watched.set(projectId, fresh);
      return fresh.follow();
    },
    stop: () => clearInterval(timer),
  };
}
