import type { Logger } from "./logger.ts";

interface Deferred {
  readonly name: string;
  readonly release: () => Promise<void> | void;
  readonly timeoutMs: number;
}

export interface Lifecycle {
  /** Registers what must be released at the end; released in reverse order of registration. */
  defer(name: string, release: () => Promise<void> | void, options?: { timeoutMs?: number }): void;
  /** First SIGINT/SIGTERM (or loss of the parent's channel) shuts down and exits 0; a second one forces exit 1. */
  handleSignals(): void;
  /** Releases everything once; later calls join the first. Rejects with all failures together. */
  shutdown(reason: string): Promise<void>;
  /** Aborted as soon as the shutdown begins. */
  readonly stopping: AbortSignal;
}

/** Ctrl-C reaches the whole process group and npm sends it on: a signal this close to the first is the same one. */
const SAME_SIGNAL_MS = 1_000;

export function createLifecycle({ log }: { log: Pick<Logger, "info" | "error"> }): Lifecycle {
  const stack: Deferred[] = [];
  const stopping = new AbortController();
  let ending: Promise<void> | null = null;

  async function releaseAll(reason: string): Promise<void> {
    stopping.abort();
    log.info({ reason }, "stopping");
    const failures: Error[] = [];
    // Popped one by one: what a start-up still under way adds is released too.
    for (let entry = stack.pop(); entry; entry = stack.pop()) {
      try {
        await withDeadline(entry);
      } catch (error) {
        log.error({ err: error, part: entry.name }, "could not stop a part");
        failures.push(new Error(`could not stop ${entry.name}`, { cause: error }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, "shutdown was not clean");
  }

  const lifecycle: Lifecycle = {
    stopping: stopping.signal,
    defer(name, release, options) {
      stack.push({ name, release, timeoutMs: options?.timeoutMs ?? 10_000 });
    },
    shutdown(reason) {
      return (ending ??= releaseAll(reason));
    },
    handleSignals() {
      let firstAt = 0;
      const onSignal = (signal: string): void => {
        const now = Date.now();
        if (firstAt === 0) {
          firstAt = now;
          lifecycle.shutdown(signal).then(
            () => process.exit(0),
            () => process.exit(1),
          );
        } else if (now - firstAt >= SAME_SIGNAL_MS) {
          log.error({ signal }, "second signal: stopping at once");
          process.exit(1);
        }
      };
      process.on("SIGINT", onSignal);
      process.on("SIGTERM", onSignal);
      if (process.connected) process.on("disconnect", () => onSignal("parent gone"));
    },
  };
  return lifecycle;
}

async function withDeadline({ name, release, timeoutMs }: Deferred): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} did not stop within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([release(), deadline]);
  } finally {
    clearTimeout(timer);
  }
}
