import type { ExecutionResult } from "graphql";
import type { Stream, StreamEnd } from "./streams.ts";

/** What a subscription answers, one result for each payload of its source. Ends its source and its stream with itself. */
export class LiveResults implements AsyncIterableIterator<ExecutionResult> {
  readonly #source: AsyncIterator<object>;
  readonly #stream: Stream;
  readonly #execute: (payload: object) => ExecutionResult | Promise<ExecutionResult>;
  readonly #lastWords: (end: StreamEnd) => ExecutionResult | null;
  readonly #excuse: (error: unknown) => ExecutionResult;
  #ended = false;

  constructor(parts: {
    source: AsyncIterator<object>;
    stream: Stream;
    execute: (payload: object) => ExecutionResult | Promise<ExecutionResult>;
    /** What a subscriber is told whose stream is ended from outside; null: nothing. */
    lastWords: (end: StreamEnd) => ExecutionResult | null;
    /** What it is told whose source has failed. */
    excuse: (error: unknown) => ExecutionResult;
  }) {
    this.#source = parts.source;
    this.#stream = parts.stream;
    this.#execute = parts.execute;
    this.#lastWords = parts.lastWords;
    this.#excuse = parts.excuse;
    this.onCut(() => void this.#source.return?.());
  }

  /** Called when the stream is ended from outside, at once where that was while it opened. */
  onCut(listener: () => void): void {
    const { signal } = this.#stream;
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
  }

  /** There may be more to come, from another gateway. */
  get cutShort(): boolean {
    return this.#stream.signal.aborted && (this.#stream.signal.reason as StreamEnd) === "stopping";
  }

  async next(): Promise<IteratorResult<ExecutionResult, undefined>> {
    if (this.#ended) return { done: true, value: undefined };
    const { signal } = this.#stream;
    try {
      const { done, value } = await this.#source.next();
      if (done !== true && !signal.aborted) return { done: false, value: await this.#execute(value) };
    } catch (error) {
      await this.return();
      return { done: false, value: this.#excuse(error) };
    }
    const words = signal.aborted ? this.#lastWords(signal.reason as StreamEnd) : null;
    await this.return();
    return words === null ? { done: true, value: undefined } : { done: false, value: words };
  }

  async return(): Promise<IteratorResult<ExecutionResult, undefined>> {
    if (!this.#ended) {
      this.#ended = true;
      this.#stream.release();
      await this.#source.return?.();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
