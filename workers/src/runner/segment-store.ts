import { topics } from "@airlock/shared/contracts";
import type { Bus } from "@airlock/shared/bus";
import {
  type Claim,
  type ClaimedTask,
  claimTasks,
  type Database,
  type SegmentWrite,
  type SegmentWritten,
  wasRolledBack,
  writeSegments,
} from "@airlock/shared/db";
import { createBatcher } from "@airlock/shared/runtime";

/** The main road's writes. Each call joins the next group commit. */
export interface SegmentStore {
  /** The claimed task, or null where the job is stale. */
  claim(claim: Claim): Promise<ClaimedTask | null>;
  /** Null where another segment holds the fence. */
  write(write: SegmentWrite): Promise<SegmentWritten | null>;
  /** An effect that lives in Postgres and the write that tells of it, in a transaction of their own. */
  transact(act: (tx: Database) => Promise<SegmentWrite>): Promise<SegmentWritten | null>;
}

const MAX_ITEMS = 256;
/** How long a hint of something that is not an end may wait for others. */
const HINT_MS = 4;

/** Ends a transaction whose fence did not hold. */
class Fenced extends Error {}

export function createSegmentStore(deps: {
  db: Database;
  bus: Bus;
  workerId: string;
  onBusError: (error: unknown) => void;
}): SegmentStore {
  const { db, bus, workerId, onBusError } = deps;

  const publish = createBatcher<readonly [string, number][], void>(
    async (groups) => {
      await bus.publish(topics.events, groups.flat());
      return groups.map(() => undefined);
    },
    { maxItems: MAX_ITEMS },
  );

  /** The newest event of each task that nobody was told of yet. */
  let untold = new Map<string, number>();
  let telling: NodeJS.Immediate | NodeJS.Timeout | null = null;
  let hurried = false;

  function tell(): void {
    const pairs = [...untold];
    untold = new Map();
    telling = null;
    hurried = false;
    void publish(pairs).catch(onBusError);
  }

  /**
   * A hint only: whoever misses it reads Postgres. What ends a segment is told at once, though behind what waits for the
   * commit itself; the rest travels with the next, as each message wakes a Redis and all gateways.
   */
  function announce(pairs: readonly (readonly [string, number])[], atOnce: boolean): void {
    if (pairs.length === 0) return;
    for (const [task, seq] of pairs) untold.set(task, Math.max(seq, untold.get(task) ?? 0));
    if (hurried || (telling !== null && !atOnce)) return;
    if (telling !== null) clearTimeout(telling as NodeJS.Timeout);
    hurried = atOnce;
    telling = atOnce ? setImmediate(tell) : setTimeout(tell, HINT_MS);
  }

  function announceWritten(writes: readonly SegmentWrite[], written: readonly (SegmentWritten | null)[]): void {
    const pairs = written.flatMap((one, index) =>
      one === null ? [] : [[writes[index]?.taskId ?? "", one.seq] as const],
    );
    announce(
      pairs,
      writes.some(({ end, parking }) => end !== null || parking !== null),
    );
  }

  const claim = createBatcher<Claim, ClaimedTask | null>(
    async (claims) => {
      const tasks = await claimTasks(db, claims, workerId);
      announce(
        tasks.flatMap((task) => (task ? [[task.id, task.event_seq] as const] : [])),
        false,
      );
      return tasks;
    },
    { maxItems: MAX_ITEMS, changedNothing: wasRolledBack },
  );

  const write = createBatcher<SegmentWrite, SegmentWritten | null>(
    async (writes) => {
      const written = await writeSegments(db, writes);
      announceWritten(writes, written);
      return written;
    },
    { maxItems: MAX_ITEMS, changedNothing: wasRolledBack },
  );

  async function transact(act: (tx: Database) => Promise<SegmentWrite>): Promise<SegmentWritten | null> {
    try {
      const { one, written } = await db.transaction().execute(async (tx) => {
        const one = await act(tx);
        const [written] = await writeSegments(tx, [one]);
        if (!written) throw new Fenced();
        return { one, written };
      });
      announceWritten([one], [written]);
      return written;
    } catch (error) {
      if (error instanceof Fenced) return null;
      throw error;
    }
  }

  return { claim, write, transact };
}
