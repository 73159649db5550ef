import type { Caller } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";

/** One open subscription. */
export interface Stream {
  /** Aborted when it has to end before its source does; the reason is a `StreamEnd`. */
  readonly signal: AbortSignal;
  /** Gives its place back. */
  release(): void;
}

/** `revoked`: its key is not valid any more. `stopping`: this gateway stops; another one goes on where it ended. */
export type StreamEnd = "revoked" | "stopping";

export interface Streams {
  /** Throws QUOTA_EXCEEDED where the key has too many, and UNAVAILABLE after `stop`. */
  open(caller: Caller): Stream;
  /** The keys that have streams. */
  keys(): string[];
  revoke(keyIds: readonly string[]): void;
  stop(): void;
  count(): number;
}

export function createStreams(maxPerKey: number): Streams {
  const byKey = new Map<string, Set<AbortController>>();
  let stopping = false;

  function end(keyId: string, reason: StreamEnd): void {
    for (const controller of byKey.get(keyId) ?? []) controller.abort(reason);
  }

  return {
    open({ keyId }) {
      if (stopping) throw new ApiError("UNAVAILABLE", "this gateway stops; connect again");
      const open = byKey.get(keyId) ?? new Set();
      if (open.size >= maxPerKey) {
        throw new ApiError(
          "QUOTA_EXCEEDED",
          `this API key has ${maxPerKey} open streams on this gateway, as many as it may; close one first`,
        );
      }
      const controller = new AbortController();
      byKey.set(keyId, open.add(controller));
      return {
        signal: controller.signal,
        release: () => {
          open.delete(controller);
          if (open.size === 0 && byKey.get(keyId) === open) byKey.delete(keyId);
        },
      };
    },
    keys: () => [...byKey.keys()],
    revoke: (keyIds) => {
      for (const keyId of keyIds) end(keyId, "revoked");
    },
    stop: () => {
      stopping = true;
      for (const keyId of byKey.keys()) end(keyId, "stopping");
    },
    count: () => [...byKey.values()].reduce((sum, open) => sum + open.size, 0),
  };
}
