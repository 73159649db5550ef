import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@airlock/shared/runtime";
import { Pull } from "./pull.ts";

/** What a value is now. `print` is the same for values that show the same; a `final` one does not change any more. */
export interface Reading<T> {
  readonly value: T;
  readonly print: string;
  readonly final: boolean;
}

export interface WatchedParts<T> {
  /** Null: it is gone. */
  read(): Promise<Reading<T> | null>;
  /** Between two reads: a value that changes all the time is shown a few times a second. */
  gapMs: number;
  onIdle(): void;
  log: Logger;
}

/**
 * A value that many look at and that is read once for all of them. A slow subscriber misses what it did not get to
 * see, and never the newest.
 */
export class Watched<T extends object> {
  readonly #parts: WatchedParts<T>;
  readonly #followers = new Set<Pull<T>>();
  /** What is made of it is shared by those who are shown the same reading; an older one shows the same only in print. */
  #newest: Reading<T> | null = null;
  #reads = 0;
  #gone = false;
  #reading = false;
  #asked = false;

  constructor(parts: WatchedParts<T>) {
    this.#parts = parts;
  }

  /** First the value as it is, then each change; ends with the final one. */
  follow(): AsyncIterable<T> {
    // What was read before may be old.
    const since = this.#reads;
    let shown: string | null = null;
    let ended = false;
    const pull: Pull<T> = new Pull({
      produce: async () => {
        if (this.#gone || ended) return null;
        if (this.#reads === since || this.#newest === null || this.#newest.print === shown) return undefined;
        const { value, print, final } = this.#newest;
        shown = print;
        ended = final;
        return value;
      },
      onEnd: () => {
        this.#followers.delete(pull);
        if (this.#followers.size === 0) this.#parts.onIdle();
      },
      onError: () => undefined,
    });
    this.#followers.add(pull);
    this.refresh();
    return pull;
  }

  /** It may have changed. */
  refresh(): void {
    this.#asked = true;
    if (!this.#reading) void this.#readOn();
  }

  async #readOn(): Promise<void> {
    this.#reading = true;
    while (this.#asked && this.#followers.size > 0) {
      this.#asked = false;
      try {
        this.#take(await this.#parts.read());
      } catch (error) {
        this.#asked = true;
        this.#parts.log.warn({ err: error }, "could not read what a stream shows; trying again");
      }
      await sleep(this.#parts.gapMs);
    }
    this.#reading = false;
  }

  #take(reading: Reading<T> | null): void {
    this.#reads += 1;
    this.#gone = reading === null;
    this.#newest = reading;
    for (const follower of this.#followers) follower.wake();
  }
}
