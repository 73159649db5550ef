import { msToNextWake, wakeDue } from "@airlock/shared/db";
import type { Context } from "../context.ts";
import { tellWoken } from "./tell-woken.ts";

/** Wakes sleepers when they are due: by the sweeper alone they would wake up to its period too late. */
export interface Alarm {
  /** Looks which sleeper of the coming period is the first. */
  set(): Promise<void>;
  stop(): Promise<void>;
}

/** Sleepers that are due within this of each other wake together. */
const TOGETHER_MS = 10;

export function createAlarm(context: Context, periodMs: number): Alarm {
  let timer: NodeJS.Timeout | undefined;
  let ringing = Promise.resolve();
  let stopped = false;

  async function set(): Promise<void> {
    const ms = await msToNextWake(context.db);
    clearTimeout(timer);
    // What is later is left to the next sweep, which looks again.
    if (ms === null || ms > periodMs || stopped) return;
    timer = setTimeout(
      () => {
        ringing = ring().catch((error: unknown) =>
          context.log.warn({ err: error }, "could not wake sleepers in time; the sweeper does"),
        );
      },
      Math.max(ms, TOGETHER_MS),
    );
  }

  /** Also on several workers at once: each row is taken by one. */
  async function ring(): Promise<void> {
    await tellWoken(context, await wakeDue(context.db));
    await set();
  }

  return {
    set,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await ringing;
    },
  };
}
