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
  #current: Reading<T> | null = null;
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
    let shown: Reading<T> | null = null;
    const pull: Pull<T> = new Pull({
      produce: async () => {
        if (this.#gone || shown?.final === true) return null;
        if (this.#reads === since || this.#current === shown) return undefined;
        shown = this.#current;
        return shown?.value;
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
    // The same object for as long as it shows the same: subscribers compare it, and share what is made of it.
    if (reading?.print !== this.#current?.print) this.#current = reading;
    for (const follower of this.#followers) follower.wake();
  }
}
