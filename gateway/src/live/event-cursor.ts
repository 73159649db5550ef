import type { EventRow } from "@airlock/shared/db";

/** One task's log, as its readers see it. */
export interface EventLog {
  /** Every live cursor has been given all events up to here. */
  readonly readTo: number;
  /** The seq of the last event there will be; null while the task goes on. */
  readonly endSeq: number | null;
  /** From Postgres; waits for it while it does not answer. Empty: there was nothing after `after` when it was asked. */
  page(after: number): Promise<readonly EventRow[]>;
  /** False: the task was deleted, and its events with it. */
  isThere(): Promise<boolean>;
  leave(cursor: EventCursor): void;
  fellBehind(): void;
}

/** What one subscriber may have waiting. The events themselves are shared with the other subscribers of the task. */
const MAX_WAITING = 256;
export const MAX_WAITING_CHARS = 256 * 1024;

const DONE = { done: true, value: undefined } as const;

/**
 * One subscriber's place in a task's log. It starts behind: it reads pages from Postgres until it has caught up with
 * what the log has handed out, and from then on is live: the log pushes each event to it. One that lets too much pile
 * up loses what is waiting and is behind again, so that it costs no memory and nobody else waits for it.
 */
export class EventCursor implements AsyncIterableIterator<EventRow> {
  readonly #log: EventLog;
  readonly #waiting: EventRow[] = [];
  #waitingChars = 0;
  /** The last one that the subscriber has taken. */
  #taken: number;
  /** The last one that waits; `#taken` where none does. */
  #tail: number;
  #live = false;
  #closed = false;
  #wake: () => void = () => undefined;

  constructor(log: EventLog, after: number) {
    this.#log = log;
    this.#taken = after;
    this.#tail = after;
  }

  /** In order of `seq`, and without gaps from the moment on at which the cursor goes live. */
  push(event: EventRow): void {
    if (!this.#live) return;
    if (this.#waiting.length >= MAX_WAITING || this.#waitingChars >= MAX_WAITING_CHARS) this.#fallBehind();
    else this.#enqueue(event);
    this.#wake();
  }

  /** The log has ended, or is gone: the subscriber finds out when it has taken what waits. */
  nudge(): void {
    this.#wake();
  }

  async next(): Promise<IteratorResult<EventRow, undefined>> {
    for (;;) {
      if (this.#closed) return DONE;
      const event = this.#waiting.shift();
      if (event) {
        this.#taken = event.seq;
        this.#waitingChars -= event.data.length;
        return { done: false, value: event };
      }
      if (this.#log.endSeq !== null && this.#taken >= this.#log.endSeq) return this.return();
      if (this.#live) await new Promise<void>((resolve) => (this.#wake = resolve));
      else await this.#catchUp();
    }
  }

  async return(): Promise<IteratorResult<EventRow, undefined>> {
    if (!this.#closed) {
      this.#closed = true;
      this.#waiting.length = 0;
      this.#log.leave(this);
      this.#wake();
    }
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Whatever the log hands out from now on is pushed, so there is no gap where the page reaches up to what it has
   * handed out already; and `#enqueue` skips what both bring.
   */
  async #catchUp(): Promise<void> {
    const page = await this.#log.page(this.#taken);
    if (this.#closed) return;
    for (const event of page) this.#enqueue(event);
    if (this.#tail >= this.#log.readTo) this.#live = true;
    // What was handed out while the page was on its way is on the next one, unless nothing is left of the task.
    else if (page.length === 0 && !(await this.#log.isThere())) await this.return();
  }

  #enqueue(event: EventRow): void {
    if (event.seq <= this.#tail) return;
    this.#waiting.push(event);
    this.#waitingChars += event.data.length;
    this.#tail = event.seq;
  }

  #fallBehind(): void {
    this.#live = false;
    this.#waiting.length = 0;
    this.#waitingChars = 0;
    this.#tail = this.#taken;
    this.#log.fellBehind();
  }
}
