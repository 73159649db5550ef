import { setTimeout as sleep } from "node:timers/promises";

export interface PullParts<T> {
  /** The next item; undefined where there is none now (it is asked again after `wake`); null at the end. */
  produce(): Promise<T | null | undefined>;
  onEnd(): void;
  /** `produce` failed, and is asked again: streams outlive a database that is away for a while. */
  onError(error: unknown): void;
}

const RETRY_MS = 500;

/** An iterator whose items are made when they are asked for, so that a slow subscriber has nothing waiting. */
export class Pull<T extends object> implements AsyncIterableIterator<T> {
  readonly #parts: PullParts<T>;
  #ended = false;
  #woken = false;
  #resume: () => void = () => undefined;

  constructor(parts: PullParts<T>) {
    this.#parts = parts;
  }

  /** There may be more now. */
  wake(): void {
    this.#woken = true;
    this.#resume();
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    while (!this.#ended) {
      this.#woken = false;
      const item = await this.#tryToProduce();
      if (item === null) return this.return();
      if (item !== undefined && !this.#ended) return { done: false, value: item };
      if (!this.#woken && !this.#ended) await new Promise<void>((resolve) => (this.#resume = resolve));
    }
    return { done: true, value: undefined };
  }

  async #tryToProduce(): Promise<T | null | undefined> {
    for (;;) {
      try {
        return await this.#parts.produce();
      } catch (error) {
        if (this.#ended) return null;
        this.#parts.onError(error);
        await sleep(RETRY_MS);
      }
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    if (!this.#ended) {
      this.#ended = true;
      this.#parts.onEnd();
      this.#resume();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
