import type { Approval } from "@airlock/client";

/** What waits for the person, kept up to date while the person thinks. */
export interface Inbox {
  /** The oldest one that is pending and was not set aside; waits for one. Rejects when watching has failed. */
  next(): Promise<Approval>;
  /** Aborts, with the approval as its reason, when somebody else has settled it. */
  settled(id: string): AbortSignal;
  setAside(id: string): void;
}

export function createInbox(updates: AsyncIterable<Approval>): Inbox {
  const pending = new Map<string, Approval>();
  const settling = new Map<string, AbortController>();
  const aside = new Set<string>();
  let wake: () => void = () => undefined;

  async function watch(): Promise<never> {
    for await (const approval of updates) {
      if (approval.status === "PENDING") pending.set(approval.id, approval);
      else {
        pending.delete(approval.id);
        settling.get(approval.id)?.abort(approval);
      }
      wake();
    }
    throw new Error("watching has no end");
  }

  const failed = watch();
  // Told to whoever asks next; meanwhile it is not unhandled.
  failed.catch(() => undefined);

  return {
    async next() {
      for (;;) {
        const first = [...pending.values()].find(({ id }) => !aside.has(id));
        if (first !== undefined) return first;
        await Promise.race([
          failed,
          new Promise<void>((resolve) => {
            wake = resolve;
          }),
        ]);
      }
    },
    settled(id) {
      const controller = settling.get(id) ?? new AbortController();
      settling.set(id, controller);
      return controller.signal;
    },
    setAside: (id) => void aside.add(id),
  };
}
