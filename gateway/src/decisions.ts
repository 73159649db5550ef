import {
  type Consequence,
  type Database,
  type Decidable,
  findDecidable,
  type Outcome,
  retryDeadlocks,
  type Settled,
  settleApprovals,
  wasRolledBack,
} from "@airlock/shared/db";
import { createBatcher } from "@airlock/shared/runtime";
import type { Announcer } from "./announcer.ts";

/** A decision that was found in order, and what it brings with it. */
export interface ReadyDecision {
  readonly projectId: string;
  readonly outcome: Outcome;
  readonly consequence: Consequence;
}

export interface Decisions {
  /** Of whatever project; null where there is none. Simultaneous calls share one read. */
  find(id: string): Promise<Decidable | null>;
  /** When the approval took it; null: it was not pending any more. Simultaneous calls share one statement. */
  one(decision: ReadyDecision): Promise<Date | null>;
  /** All in one statement; an approval may appear once. */
  many(decisions: readonly ReadyDecision[]): Promise<Settled>;
}

/** One statement of this size takes some 10 ms; more would only make the first of them wait. */
const MAX_GROUP = 200;

const NOTHING: Settled = { ids: new Set(), at: null, toEnqueue: [], running: [], events: [] };

export function createDecisions(parts: { db: Database; announcer: Announcer }): Decisions {
  const { db, announcer } = parts;

  async function many(decisions: readonly ReadyDecision[]): Promise<Settled> {
    if (decisions.length === 0) return NOTHING;
    const settled = await retryDeadlocks(() =>
      settleApprovals(
        db,
        decisions.map((decision) => decision.outcome),
        "live",
        decisions.map((decision) => decision.consequence),
      ),
    );
    const taken = decisions.filter((decision) => settled.ids.has(decision.outcome.id));
    announcer.announce({ woken: settled, settled: taken.map(({ projectId, outcome }) => [projectId, outcome.id]) });
    return settled;
  }

  /** Of two that met in one group the first wins, as it would have by a moment in two. */
  async function flush(group: ReadyDecision[]): Promise<(Date | null)[]> {
    const first = new Map(group.toReversed().map((decision) => [decision.outcome.id, decision]));
    const { ids, at } = await many([...first.values()]);
    return group.map((decision) => {
      const { id } = decision.outcome;
      return ids.has(id) && first.get(id) === decision ? at : null;
    });
  }

  return {
    find: createBatcher((ids) => findDecidable(db, ids), { maxItems: MAX_GROUP, maxInFlight: 2 }),
    // Two in flight: the second gathers and travels while the first commits.
    one: createBatcher(flush, { maxItems: MAX_GROUP, maxInFlight: 2, changedNothing: wasRolledBack }),
    many,
  };
}
