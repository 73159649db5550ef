import type { Queue } from "bullmq";

/** A queue that outlives a failure of its first connection. */
export interface LastingQueue<T> {
  /** To be asked for at each use, and not kept. */
  current(): Queue<T>;
  close(): Promise<void>;
}

/** A queue whose first connection failed stays broken, as BullMQ keeps that failure on both backends: make it anew. */
export function createLastingQueue<T>(make: () => Queue<T>, onError: (error: Error) => void): LastingQueue<T> {
  let queue: Queue<T> | null = null;

  function open(): Queue<T> {
    const made = make();
    made.on("error", onError);
    made.waitUntilReady().catch(() => {
      if (queue === made) queue = null;
      made.close().catch(onError);
    });
    return made;
  }

  return {
    current: () => (queue ??= open()),
    close: async () => queue?.close(),
  };
}
