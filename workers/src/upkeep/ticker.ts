import type { Logger } from "@airlock/shared/runtime";

/** Something that is done again and again, one at a time. */
export interface Ticker {
  /** Now, or right after the tick that is under way. */
  hurry(): void;
  stop(): Promise<void>;
}

export function startTicker(
  tick: () => Promise<void>,
  options: { periodMs: number; log: Logger; onFailure: string },
): Ticker {
  const { periodMs, log, onFailure } = options;
  let stopped = false;
  let ticking: Promise<void> | null = null;
  let again = false;

  function run(): void {
    if (stopped) return;
    if (ticking) {
      again = true;
      return;
    }
    ticking = tick()
      .catch((error: unknown) => log.warn({ err: error }, onFailure))
      .finally(() => {
        ticking = null;
        if (again) {
          again = false;
          run();
        }
      });
  }

  const timer = setInterval(() => {
    if (!ticking) run();
  }, periodMs);
  return {
    hurry: run,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await ticking;
    },
  };
}
