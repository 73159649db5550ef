import { OPEN_CALLS, OPEN_CALLS_CHARS } from "../../guests/javascript/call-limits.ts";

/** The calls that a guest has made and that were not settled yet: how many, and how long. */
export class OpenCalls {
  readonly #chars = new Map<number, number>();
  #count = 0;
  #total = 0;

  get count(): number {
    return this.#count;
  }

  /** A restored guest waits for this many: their lengths are not known any more. */
  resumeAt(count: number): void {
    this.#count = count;
  }

  /** Says what is wrong where these are more than the worker would hold. */
  add(id: number, chars: number): string | null {
    this.#count++;
    this.#chars.set(id, chars);
    this.#total += chars;
    if (this.#count > OPEN_CALLS) return `${OPEN_CALLS} others wait for their outcomes`;
    return this.#total > OPEN_CALLS_CHARS
      ? `it and those that wait for their outcomes have more than ${OPEN_CALLS_CHARS} characters`
      : null;
  }

  settle(id: number): void {
    this.#count--;
    this.#total -= this.#chars.get(id) ?? 0;
    this.#chars.delete(id);
  }
}
