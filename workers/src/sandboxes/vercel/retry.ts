import { setTimeout as sleep } from "node:timers/promises";
import { faultOf } from "./failures.ts";

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Pauses grow, and differ: a fleet that was refused together does not come back together. */
export function pause(attempt: number, signal?: AbortSignal): Promise<void> {
  const ms = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
  return sleep(ms, undefined, signal === undefined ? {} : { signal });
}

/** For what may be asked twice. The SDK's own three attempts are within a second and a half; these go on. */
export async function persist<T>(ask: () => Promise<T>, attempts = 5): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (faultOf(error) !== "passing" || attempt + 1 >= attempts) throw error;
      await pause(attempt);
    }
  }
}
