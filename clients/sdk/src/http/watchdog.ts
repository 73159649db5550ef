import { ConnectionError } from "../errors.ts";

/** Aborts `signal` after a silence, or when the caller's own signal says so. */
export interface Watchdog {
  readonly signal: AbortSignal;
  /** Something was heard: the silence starts anew. */
  heard(): void;
  /** No more watching, and what still runs under the signal ends. */
  stop(): void;
}

export function watch(silenceMs: number, outer: AbortSignal | undefined): Watchdog {
  const controller = new AbortController();
  const silent = (): void =>
    controller.abort(new ConnectionError("UNREACHABLE", `the gateway was silent for ${silenceMs / 1000} s`));
  const stop = (): void => {
    clearTimeout(timer);
    outer?.removeEventListener("abort", stop);
    controller.abort(outer?.reason);
  };
  let timer = setTimeout(silent, silenceMs);
  if (outer?.aborted) stop();
  else outer?.addEventListener("abort", stop, { once: true });
  return {
    signal: controller.signal,
    heard() {
      clearTimeout(timer);
      timer = setTimeout(silent, silenceMs);
    },
    stop,
  };
}
