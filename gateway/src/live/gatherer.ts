import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@airlock/shared/runtime";

export interface Gatherer {
  add(taskIds: Iterable<string>): void;
}

/** More than these are not looked at one by one. */
const MAX_GATHERED = 5_000;
const RETRY_MS = 500;

/**
 * Gathers tasks that have news while a look at earlier ones is under way: a busy fleet makes looks larger, not more
 * frequent. `onFlood` is called instead where too many come together, or where a look failed: whoever watches must
 * then compare everything with Postgres.
 */
export function createGatherer(parts: {
  look: (taskIds: readonly string[]) => Promise<void>;
  onFlood: () => void;
  log: Logger;
}): Gatherer {
  const { look, onFlood, log } = parts;
  const gathered = new Set<string>();
  let looking = false;

  async function lookOn(): Promise<void> {
    looking = true;
    while (gathered.size > 0) {
      const ids = [...gathered];
      gathered.clear();
      try {
        if (ids.length <= MAX_GATHERED) await look(ids);
        else onFlood();
      } catch (error) {
        log.warn({ err: error }, "could not look at tasks with news");
        await sleep(RETRY_MS);
        onFlood();
      }
    }
    looking = false;
  }

  return {
    add(taskIds) {
      for (const id of taskIds) gathered.add(id);
      if (!looking) void lookOn();
    },
  };
}
