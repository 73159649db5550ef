import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@airlock/shared/runtime";
import type { Lease, LeaseRequest } from "../sandboxes/port.ts";
import type { LeaseBook } from "./lease-book.ts";

/** Each holds its sandbox's files, for some providers in memory: where there are more, the oldest makes room. */
const MAX_RESTED = 8;

/** Whoever hinders it for longer is no good for another task, whose clock does not run yet. */
const REST_MS = 15_000;

/** A sandbox whose task has ended, and for how long another of its session may have it. */
export interface Rested {
  readonly id: string;
  readonly lease: Lease;
  readonly retainMs: number;
}

/**
 * The sandboxes that wait on this worker for their session's next task. Only this worker can hand them out, for it alone
 * speaks with what is in them; whether they are still there to be had Postgres says.
 */
export interface RestedLeases {
  /** For this task, and for no other; null: there is none, or none that can be used. Never rejects. */
  take(key: string, request: LeaseRequest): Promise<Lease | null>;
  /** False: it could not be brought to rest, and is the caller's to release. Never rejects. */
  keep(key: string, rested: Rested): Promise<boolean>;
  /** Gives all of them back. */
  close(): Promise<void>;
}

interface Entry {
  /** Null: it could not be brought to rest. */
  readonly resting: Promise<Rested | null>;
  timer: NodeJS.Timeout | undefined;
}

export function createRestedLeases({ leases, log }: { leases: LeaseBook; log: Logger }): RestedLeases {
  const entries = new Map<string, Entry>();
  const busy = new Set<Promise<void>>();
  let closed = false;

  async function rest({ id, lease, retainMs }: Rested): Promise<Rested | null> {
    try {
      if (!lease.rest || !lease.reuse) return null;
      await within(REST_MS, lease.rest());
      await leases.rest(id, retainMs);
      return { id, lease, retainMs };
    } catch (error) {
      log.warn({ err: error, lease: id }, "a sandbox could not be brought to rest");
      return null;
    }
  }

  /** Whatever of this fails is the reaper's. */
  async function giveBack({ id, lease }: Rested): Promise<void> {
    try {
      await lease.release();
      await leases.endRested(id);
    } catch (error) {
      log.warn({ err: error, lease: id }, "a rested sandbox could not be given back");
    } finally {
      leases.letGo(id);
    }
  }

  function discard(key: string, entry: Entry): void {
    if (entries.get(key) === entry) entries.delete(key);
    clearTimeout(entry.timer);
    const work = entry.resting.then((rested) => (rested === null ? undefined : giveBack(rested)));
    const tracked: Promise<void> = work.finally(() => busy.delete(tracked));
    busy.add(tracked);
  }

  /** When its time is up it is given back; what fails of that is the reaper's, as with all that were kept. */
  function discardLater(key: string, entry: Entry, { retainMs }: Rested): void {
    entry.timer = setTimeout(() => {
      if (entries.get(key) === entry) discard(key, entry);
    }, retainMs).unref();
  }

  async function useAgain({ id, lease }: Rested, request: LeaseRequest): Promise<Lease | null> {
    const next = await lease.reuse?.(request);
    // Not before it goes by its new name: what is left of an ended lease is the reaper's.
    if (next === undefined || (await leases.endRested(id).catch(() => false))) return next ?? null;
    await next.release();
    return null;
  }

  return {
    async take(key, request) {
      const entry = entries.get(key);
      if (entry === undefined) return null;
      entries.delete(key);
      const rested = await entry.resting;
      clearTimeout(entry.timer);
      if (rested === null) return null;
      try {
        const lease = await useAgain(rested, request);
        if (lease !== null) return lease;
      } catch (error) {
        log.warn({ err: error, lease: rested.id }, "a rested sandbox cannot be used again; a new one is made");
      }
      await giveBack(rested);
      return null;
    },
    async keep(key, rested) {
      if (closed) return false;
      // Found from now on: the next task may be here before this one's processes are gone.
      const entry: Entry = { resting: rest(rested), timer: undefined };
      const previous = entries.get(key);
      if (previous !== undefined) discard(key, previous);
      entries.set(key, entry);
      for (const [oldest, other] of entries) {
        if (entries.size <= MAX_RESTED) break;
        discard(oldest, other);
      }
      const held = await entry.resting;
      if (entries.get(key) === entry) {
        if (held === null) entries.delete(key);
        else discardLater(key, entry, held);
      }
      return held !== null;
    },
    async close() {
      closed = true;
      for (const [key, entry] of entries) discard(key, entry);
      while (busy.size > 0) await Promise.all(busy);
    },
  };
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const late = sleep(ms, undefined, { ref: false, signal: timer.signal }).then(() => {
    throw new Error(`it took longer than ${ms} ms`);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    work.catch(() => {});
    timer.abort();
  }
}
