import { setTimeout as sleep } from "node:timers/promises";
import { type Database, type EventRow, findTaskHead, findTaskHeads, listEventsAfter } from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import { type EventCursor, MAX_WAITING_CHARS } from "./event-cursor.ts";
import { EventFeed } from "./event-feed.ts";

export interface EventHub {
  /** Everything after `after`, then live, in order, once each, until the task's last event. Null: no such task. */
  follow(projectId: string, taskId: string, after: number): Promise<EventCursor | null>;
  /** New events are in Postgres. */
  hint(pairs: readonly (readonly [taskId: string, seq: number])[]): void;
  /** Compares with Postgres: hints can be lost. */
  check(): Promise<void>;
  close(): void;
}

/** Characters are never more than bytes: a page fits into what a subscriber may have waiting. */
const PAGE = { limit: 200, maxBytes: MAX_WAITING_CHARS };
const RETRY_MS = 500;

/**
 * Reads each new event of a followed task once, however many follow it. All tasks with news share one query, and one
 * query is under way at a time: the next gathers what is hinted at meanwhile.
 */
export function createEventHub(parts: { db: Database; log: Logger; onFellBehind: () => void }): EventHub {
  const { db, log, onFellBehind } = parts;
  const feeds = new Map<string, EventFeed>();
  const pages = new Map<string, Promise<readonly EventRow[]>>();
  const lagging = new Set<EventFeed>();
  let reading = false;
  const closing = new AbortController();
  const { signal } = closing;

  function noteLag(feed: EventFeed): void {
    if (!feed.lags) return;
    lagging.add(feed);
    if (!reading) void readOn();
  }

  async function readOn(): Promise<void> {
    reading = true;
    while (lagging.size > 0 && !signal.aborted) {
      const behind = [...lagging];
      lagging.clear();
      const found = await untilAnswered(() =>
        listEventsAfter(
          db,
          behind.map((feed) => ({ taskId: feed.taskId, after: feed.readTo })),
          PAGE,
        ),
      );
      for (const feed of behind) {
        const events = found.get(feed.taskId) ?? [];
        feed.take(events);
        // A hint at what is not there would be asked for again and again; `check` settles it.
        if (events.length > 0 && feed.lags) lagging.add(feed);
      }
    }
    reading = false;
  }

  /** Subscribers who start at the same place at the same time share the page, and so what is made of its events. */
  function page(taskId: string, after: number): Promise<readonly EventRow[]> {
    const key = `${taskId}/${after}`;
    let read = pages.get(key);
    if (read === undefined) {
      read = untilAnswered(() => listEventsAfter(db, [{ taskId, after }], PAGE))
        .then((found) => found.get(taskId) ?? [])
        .finally(() => pages.delete(key));
      pages.set(key, read);
    }
    return read;
  }

  async function isThere(taskId: string): Promise<boolean> {
    return (await untilAnswered(() => findTaskHeads(db, [taskId]))).has(taskId);
  }

  /** Streams outlive a database that is away for a while. */
  async function untilAnswered<T>(read: () => Promise<Map<string, T>>): Promise<Map<string, T>> {
    while (!signal.aborted) {
      try {
        return await read();
      } catch (error) {
        if (signal.aborted) break;
        log.warn({ err: error }, "could not read events; trying again");
        await sleep(RETRY_MS);
      }
    }
    return new Map();
  }

  function feedOf(taskId: string): EventFeed {
    let feed = feeds.get(taskId);
    if (feed === undefined) {
      feed = new EventFeed(taskId, {
        page,
        isThere,
        onFellBehind,
        onIdle: (idle) => {
          if (feeds.get(taskId) === idle) feeds.delete(taskId);
        },
      });
      feeds.set(taskId, feed);
    }
    return feed;
  }

  return {
    async follow(projectId, taskId, after) {
      const feed = feedOf(taskId);
      const cursor = await feed.enter(after, () => findTaskHead(db, projectId, taskId));
      noteLag(feed);
      return cursor;
    },
    hint(pairs) {
      for (const [taskId, seq] of pairs) {
        const feed = feeds.get(taskId);
        feed?.hint(seq);
        if (feed) noteLag(feed);
      }
    },
    async check() {
      if (feeds.size === 0) return;
      const followed = [...feeds.values()];
      const heads = await findTaskHeads(
        db,
        followed.map((feed) => feed.taskId),
      );
      for (const feed of followed) {
        const head = heads.get(feed.taskId);
        if (head === undefined) feed.end();
        else feed.hint(head.seq);
        noteLag(feed);
      }
    },
    close: () => closing.abort(),
  };
}
