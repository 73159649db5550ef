import { isTerminal } from "@airlock/shared/contracts";
import type { EventRow, TaskHead } from "@airlock/shared/db";
import { hasEnded } from "@airlock/shared/domain";
import { EventCursor, type EventLog } from "./event-cursor.ts";

export interface FeedParts {
  page(taskId: string, after: number): Promise<readonly EventRow[]>;
  isThere(taskId: string): Promise<boolean>;
  /** Nobody follows the task any more. */
  onIdle(feed: EventFeed): void;
  onFellBehind(): void;
}

/** A task that somebody follows: its log is read once and handed to all its subscribers. */
export class EventFeed implements EventLog {
  readonly taskId: string;
  readonly #parts: FeedParts;
  readonly #cursors = new Set<EventCursor>();
  /** Subscribers on their way in. */
  #entering = 0;
  #readTo: number | null = null;
  #hinted = 0;
  #endSeq: number | null = null;

  constructor(taskId: string, parts: FeedParts) {
    this.taskId = taskId;
    this.#parts = parts;
  }

  get readTo(): number {
    return this.#readTo ?? 0;
  }

  get endSeq(): number | null {
    return this.#endSeq;
  }

  /** There are events that nobody has read yet. */
  get lags(): boolean {
    return this.#readTo !== null && this.#hinted > this.#readTo;
  }

  hint(seq: number): void {
    this.#hinted = Math.max(this.#hinted, seq);
  }

  /**
   * The feed is there before its task is looked up, so that no hint is missed in between. `find` answers null where
   * the caller has no such task.
   */
  async enter(after: number, find: () => Promise<TaskHead | null>): Promise<EventCursor | null> {
    this.#entering += 1;
    try {
      const head = await find();
      if (head === null) return null;
      // What was there before the first subscriber is history, which each reads for itself.
      this.#readTo ??= head.seq;
      this.hint(head.seq);
      if (hasEnded(head.status)) this.#endSeq = head.seq;
      const cursor = new EventCursor(this, after);
      this.#cursors.add(cursor);
      return cursor;
    } finally {
      this.#entering -= 1;
      this.#leaveIfIdle();
    }
  }

  /** The next events, in order; those of a page that overlaps with what was read before are left out. */
  take(events: readonly EventRow[]): void {
    for (const event of events) {
      if (event.seq <= this.readTo) continue;
      this.#readTo = event.seq;
      if (isTerminal(event.type)) this.#endSeq = event.seq;
      for (const cursor of this.#cursors) cursor.push(event);
    }
  }

  /** The task was deleted. */
  end(): void {
    this.#endSeq ??= this.readTo;
    for (const cursor of this.#cursors) cursor.nudge();
  }

  page(after: number): Promise<readonly EventRow[]> {
    return this.#parts.page(this.taskId, after);
  }

  isThere(): Promise<boolean> {
    return this.#parts.isThere(this.taskId);
  }

  leave(cursor: EventCursor): void {
    this.#cursors.delete(cursor);
    this.#leaveIfIdle();
  }

  fellBehind(): void {
    this.#parts.onFellBehind();
  }

  #leaveIfIdle(): void {
    if (this.#cursors.size === 0 && this.#entering === 0) this.#parts.onIdle(this);
  }
}
