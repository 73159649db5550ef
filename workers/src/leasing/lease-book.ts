import {
  type Database,
  endLeases,
  endRestedLease,
  insertLeases,
  type LeaseEnd,
  type NewLease,
} from "@airlock/shared/db";
import { createBatcher } from "@airlock/shared/runtime";

/** Tells Postgres of sandboxes that can outlive this worker, and knows which of them it holds. */
export interface LeaseBook {
  /** Resolves when the lease is committed: only then may its sandbox be asked for. */
  begin(lease: Omit<NewLease, "workerId" | "host">): Promise<void>;
  /** Where it rejects the reaper finds a lease that nobody holds. */
  end(end: LeaseEnd): Promise<void>;
  /** Nobody's for that long, and still held by this worker. */
  rest(id: string, retainMs: number): Promise<void>;
  /** A rested one's sandbox is another lease's, or gone. False: somebody else has ended the lease, or its time was up. */
  endRested(id: string): Promise<boolean>;
  /** This worker does not hold it any more: what Postgres still has of it is the reaper's. */
  letGo(id: string): void;
  held(): string[];
}

export function createLeaseBook(parts: { db: Database; workerId: string; host: string }): LeaseBook {
  const { db, workerId, host } = parts;
  const held = new Set<string>();

  const insert = createBatcher<NewLease, void>(
    async (leases) => {
      await insertLeases(db, leases);
      return leases.map(() => undefined);
    },
    { maxItems: 256 },
  );
  const update = createBatcher<LeaseEnd, void>(
    async (ends) => {
      await endLeases(db, ends);
      return ends.map(() => undefined);
    },
    { maxItems: 256 },
  );

  return {
    async begin(lease) {
      held.add(lease.id);
      try {
        await insert({ ...lease, workerId, host });
      } catch (error) {
        held.delete(lease.id);
        throw error;
      }
    },
    async end(end) {
      try {
        await update(end);
      } finally {
        held.delete(end.id);
      }
    },
    rest: (id, retainMs) => update({ id, state: "RETAINED", error: null, retainMs }),
    async endRested(id) {
      const ended = await endRestedLease(db, { id, workerId });
      if (ended) held.delete(id);
      return ended;
    },
    letGo: (id) => void held.delete(id),
    held: () => [...held],
  };
}
