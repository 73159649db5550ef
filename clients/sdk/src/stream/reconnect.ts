import { isPassing } from "../http/answer.ts";
import { delayBefore, type Patience, pause } from "../http/backoff.ts";
import { ALIVE } from "./subscribe.ts";

/**
 * One stream out of as many connections as it takes. `connect` opens the next one where the last one was left; the
 * stream ends when a connection is complete. A failure that will not pass throws, and so does one that lasts too long.
 */
export async function* reconnecting<T>(
  connect: () => AsyncIterable<T | typeof ALIVE>,
  patience: Patience,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void> {
  let failures = 0;
  let failingSince: number | null = null;
  for (;;) {
    try {
      for await (const message of connect()) {
        [failures, failingSince] = [0, null];
        if (message !== ALIVE) yield message;
      }
      return;
    } catch (error) {
      failingSince ??= Date.now();
      if (!isPassing(error) || Date.now() - failingSince > patience.reconnectForMs) throw error;
      await pause(delayBefore(failures, patience, error), signal);
      failures += 1;
    }
  }
}
