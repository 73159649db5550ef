interface Work<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** Work that many ask for at the same time is done once; it is stopped when the last of them has left. */
export class SharedWork<T> {
  readonly #all = new Map<string, Work<T>>();

  /** Rejects with the signal's reason when it aborts. */
  async do(key: string, start: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const work = this.#all.get(key) ?? this.#begin(key, start);
    work.waiting += 1;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([work.result, aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
      work.waiting -= 1;
      if (work.waiting === 0) this.#leave(key, work);
    }
  }

  #begin(key: string, start: (signal: AbortSignal) => Promise<T>): Work<T> {
    const stop = new AbortController();
    const work: Work<T> = { stop, waiting: 0, result: start(stop.signal) };
    this.#all.set(key, work);
    work.result.then(
      () => this.#forget(key, work),
      () => this.#forget(key, work),
    );
    return work;
  }

  /** Whoever comes while it stops begins anew. */
  #leave(key: string, work: Work<T>): void {
    this.#forget(key, work);
    work.stop.abort();
  }

  #forget(key: string, work: Work<T>): void {
    if (this.#all.get(key) === work) this.#all.delete(key);
  }
}
