import { indexTasks } from "@airlock/shared/db";
import type { Context } from "../context.ts";

const PERIOD_MS = 1_000;
const STEP = 200;
/** Of the time while there is more to do: what runs needs Postgres too. */
const SHARE = 0.2;

/** Makes tasks searchable behind their submission and their end, one worker at a time. */
export function startIndexer({ db, log }: Pick<Context, "db" | "log">): { stop(): Promise<void> } {
  let stopped = false;
  let timer = setTimeout(tick, PERIOD_MS);
  let stepping = Promise.resolve();

  function tick(): void {
    const from = performance.now();
    stepping = indexTasks(db, STEP)
      .catch((error: unknown) => {
        log.warn({ err: error }, "could not index tasks for the search; the next step tries again");
        return 0;
      })
      .then((indexed) => {
        const pauseMs = indexed < STEP ? PERIOD_MS : (performance.now() - from) * (1 / SHARE - 1);
        if (!stopped) timer = setTimeout(tick, pauseMs);
      });
  }

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await stepping;
    },
  };
}
