import { setTimeout as sleep } from "node:timers/promises";

/**
 * Repeats what must not be lost while Postgres is away. Only for writes that are guarded by a fence: done twice, the
 * second changes nothing.
 */
export async function untilDone<T>(action: () => Promise<T>, onFailure: (error: unknown) => void): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await action();
    } catch (error) {
      onFailure(error);
      await sleep(Math.min(5_000, 100 * 2 ** attempt));
    }
  }
}
