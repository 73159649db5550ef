import { addThroughput } from "@airlock/shared/db";
import type { Context } from "../context.ts";

/** Counts the tasks that end on this worker, for `queueStats`. */
export interface Throughput {
  note(projectId: string): void;
  stop(): Promise<void>;
}

const PERIOD_MS = 1_000;

/** A crash loses the counts of a second. */
export function startThroughput({ db, workerId, log }: Pick<Context, "db" | "workerId" | "log">): Throughput {
  let finished = new Map<string, number>();

  async function write(): Promise<void> {
    if (finished.size === 0) return;
    const counts = finished;
    finished = new Map();
    await addThroughput(db, workerId, counts).catch((error: unknown) => {
      log.warn({ err: error }, "could not write how many tasks have ended");
    });
  }

  let writing = Promise.resolve();
  const timer = setInterval(() => {
    writing = writing.then(write);
  }, PERIOD_MS);

  return {
    note(projectId) {
      finished.set(projectId, (finished.get(projectId) ?? 0) + 1);
    },
    async stop() {
      clearInterval(timer);
      await writing;
      await write();
    },
  };
}
