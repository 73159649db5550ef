import { batchesAmong, type BatchRow, countBatches, type Database, findBatch } from "@airlock/shared/db";
import { allEnded } from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import { createGatherer } from "./gatherer.ts";
import { type Reading, Watched } from "./watched.ts";

export interface BatchWatch {
  /** First the batch as it is, then each change, until all its tasks have ended. */
  follow(batch: BatchRow): AsyncIterable<BatchRow>;
  /** Tasks that have new events. */
  hint(taskIds: readonly string[]): void;
  check(): void;
}

const GAP_MS = 250;

export function createBatchWatch({ db, log }: { db: Database; log: Logger }): BatchWatch {
  const watched = new Map<string, Watched<BatchRow>>();

  const check = (): void => {
    for (const batch of watched.values()) batch.refresh();
  };
  const gatherer = createGatherer({
    log,
    onFlood: check,
    look: async (taskIds) => {
      for (const id of await batchesAmong(db, [...watched.keys()], taskIds)) watched.get(id)?.refresh();
    },
  });

  async function read(projectId: string, id: string): Promise<Reading<BatchRow> | null> {
    const batch = await findBatch(db, projectId, id);
    if (batch === null) return null;
    const counts = (await countBatches(db, [id])).get(id) ?? {};
    return { value: batch, print: JSON.stringify(counts), final: allEnded(counts) };
  }

  return {
    follow({ id, project_id: projectId }) {
      const known = watched.get(id);
      if (known) return known.follow();
      const fresh = new Watched({
        log,
        gapMs: GAP_MS,
        read: () => read(projectId, id),
        onIdle: () => watched.delete(id),
      });
      watched.set(id, fresh);
      return fresh.follow();
    },
    hint(taskIds) {
      if (watched.size > 0) gatherer.add(taskIds);
    },
    check,
  };
}
