interface Waiting<In, Out> {
  readonly item: In;
  readonly resolve: (value: Out) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatcherOptions {
  /** Most items in one flush. */
  readonly maxItems: number;
  /** Flushes under way at the same time; 1 gathers best. */
  readonly maxInFlight?: number;
  /**
   * True for a failure that surely changed nothing: the items are then tried again one by one, so that one bad item
   * cannot fail its neighbours. Default: never.
   */
  readonly changedNothing?: (error: unknown) => boolean;
}

/**
 * Group commit, self-clocked: while a flush is under way the next one gathers, so a busy system makes large batches
 * and an idle one waits for nothing. No timer.
 */
export function createBatcher<In, Out>(
  flush: (items: In[]) => Promise<Out[]>,
  { maxItems, maxInFlight = 1, changedNothing = () => false }: BatcherOptions,
): (item: In) => Promise<Out> {
  let waiting: Waiting<In, Out>[] = [];
  let inFlight = 0;
  let scheduled = false;

  async function attempt(group: Waiting<In, Out>[]): Promise<void> {
    try {
      const results = await flush(group.map((entry) => entry.item));
      group.forEach((entry, index) => entry.resolve(results[index] as Out));
    } catch (error) {
      if (group.length > 1 && changedNothing(error)) for (const entry of group) await attempt([entry]);
      else for (const entry of group) entry.reject(error);
    }
  }

  function pump(): void {
    scheduled = false;
    while (waiting.length > 0 && inFlight < maxInFlight) {
      const group = waiting.slice(0, maxItems);
      waiting = waiting.slice(maxItems);
      inFlight += 1;
      void attempt(group).finally(() => {
        inFlight -= 1;
        schedule();
      });
    }
  }

  /** One turn of the event loop's check phase, so that items of the same burst share the first flush too. */
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(pump);
  }

  return (item) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
