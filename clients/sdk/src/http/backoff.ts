/** How patient a client is with a gateway that does not answer. */
export interface Patience {
  /** Before the first repeat; each further one waits twice as long, up to `maxDelayMs`, with jitter. */
  readonly delayMs: number;
  readonly maxDelayMs: number;
  /** How often one request is sent at most. */
  readonly attempts: number;
  /** How long a stream looks for its gateway before it gives up. */
  readonly reconnectForMs: number;
  /** One request, or the silence of a stream (whose gateway sends keep-alives), after which it counts as lost. */
  readonly silenceMs: number;
}

export const DEFAULT_PATIENCE: Patience = {
  delayMs: 100,
  maxDelayMs: 5_000,
  attempts: 5,
  reconnectForMs: 5 * 60_000,
  silenceMs: 60_000,
};

/** Half of the delay is random, so that the clients of a restarted gateway do not return all at once. */
export function delayBefore(repeat: number, patience: Patience, error: unknown): number {
  const full = Math.min(patience.maxDelayMs, patience.delayMs * 2 ** repeat);
  return Math.max(full * (0.5 + Math.random() / 2), askedFor(error));
}

/** Never more than a minute: a stranger's header must not put a client to sleep. */
function askedFor(error: unknown): number {
  const asked = (error as { retryAfterMs?: number | null }).retryAfterMs ?? 0;
  return Math.min(asked, 60_000);
}

export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
