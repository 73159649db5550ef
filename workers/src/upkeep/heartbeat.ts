import { giveBack, heartbeat, runningOn } from "@airlock/shared/db";
import type { Context } from "../context.ts";

export interface Heartbeat {
  /** Resolves when the last beat that Postgres took is recent enough, or when the signal aborts. */
  isFresh(signal: AbortSignal): Promise<void>;
  /** From now on the worker is shown as draining. */
  drain(): void;
  /** Says goodbye: the worker is shown as stopped. */
  stop(): Promise<void>;
}

/**
 * Tells Postgres that this worker lives, and hears from it what a lost message would have said: cancel requests, being
 * given up by others, and tasks that Postgres thinks run here but do not (a claim whose answer was lost).
 */
export function startHeartbeat(
  context: Pick<Context, "db" | "workerId" | "running" | "log">,
  options: { periodMs: number; freshMs: number },
): Heartbeat {
  const { db, workerId, running, log } = context;
  let lastBeatAt = performance.now();
  const waiting: (() => void)[] = [];
  let state: "RUNNING" | "DRAINING" = "RUNNING";
  let strangers = new Set<string>();
  let stopped = false;

  async function beat(): Promise<void> {
    const sentAt = performance.now();
    const wasLost = await heartbeat(db, { id: workerId, state, running: running.count });
    lastBeatAt = sentAt;
    if (wasLost) {
      log.warn("this worker was given up as lost; its segments stop");
      running.stopAll("fenced");
    }
    const tasks = await runningOn(db, workerId);
    running.stop(
      tasks.filter((task) => task.cancel).map((task) => task.id),
      "cancelled",
    );
    const unknown = tasks.filter((task) => !running.has(task.id, task.segments));
    // Twice in a row: the first time it may just be between its claim and its start, or its end and our read.
    for (const task of unknown.filter((t) => strangers.has(`${t.id}/${t.segments}`))) {
      await giveBack(db, { taskId: task.id, fence: task.segments }, "worker drains");
    }
    for (const resolve of waiting.splice(0)) resolve();
    strangers = new Set(unknown.map((task) => `${task.id}/${task.segments}`));
  }

  let beating = Promise.resolve();
  const timer = setInterval(() => {
    beating = beating.then(beat).catch((error: unknown) => log.warn({ err: error }, "heartbeat failed"));
  }, options.periodMs);

  return {
    async isFresh(signal) {
      // A frozen process wakes with an old beat: its fence may be gone, and it learns that from the next one.
      while (performance.now() - lastBeatAt > options.freshMs && !signal.aborted) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    },
    drain() {
      state = "DRAINING";
    },
    async stop() {
      if (stopped) return;
      stopped = true;
      clearInterval(timer);
      await beating;
      await heartbeat(db, { id: workerId, state: "STOPPED", running: 0 });
    },
  };
}
