import { takeWaiting } from "@airlock/shared/db";
import { FEED_WINDOW } from "@airlock/shared/domain";
import type { Context } from "../context.ts";

/**
 * Keeps a window of each project's waiting tasks in BullMQ; the rest stay in Postgres, so that Redis stays small and
 * a project with a long queue cannot stand before the others.
 */
export interface Feeder {
  /** A task was claimed: its place in the window is free. */
  noteClaim(): void;
  /** Feeds now; joins a pass that is under way. */
  feed(): Promise<void>;
  stop(): Promise<void>;
}

const MAX_WINDOW = 4_096;
/** A pass waits for a quarter of the window to drain, but never longer than this. */
const MAX_DELAY_MS = 50;
/** The window doubles while passes come faster than this, and halves when they come slower than the second figure. */
const FAST_MS = 100;
const SLOW_MS = 1_000;

export function createFeeder(context: Pick<Context, "db" | "queues" | "log">, providers: readonly string[]): Feeder {
  let window = FEED_WINDOW;
  let claims = 0;
  let lastFedAt = 0;
  let timer: NodeJS.Timeout | null = null;
  let passing: Promise<void> | null = null;
  let stopped = false;

  async function pass(): Promise<void> {
    claims = 0;
    for (const provider of providers) {
      const jobs = await takeWaiting(context.db, provider, window);
      if (jobs.length > 0) {
        adapt();
        await context.queues.add(jobs);
      }
    }
  }

  function adapt(): void {
    const now = Date.now();
    if (now - lastFedAt < FAST_MS) window = Math.min(MAX_WINDOW, window * 2);
    else if (now - lastFedAt > SLOW_MS) window = Math.max(FEED_WINDOW, window / 2);
    lastFedAt = now;
  }

  async function feed(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    passing ??= pass()
      .catch((error: unknown) => context.log.warn({ err: error }, "feeding failed; the sweeper tries again"))
      .finally(() => {
        passing = null;
      });
    await passing;
  }

  return {
    noteClaim() {
      claims += 1;
      if (stopped || passing) return;
      if (claims >= window / 4) void feed();
      else timer ??= setTimeout(() => void feed(), MAX_DELAY_MS);
    },
    feed,
    async stop() {
      stopped = true;
      if (timer) clearTimeout(timer);
      await passing;
    },
  };
}
