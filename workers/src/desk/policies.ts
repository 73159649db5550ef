import { type Database, listPoliciesOf, type PolicyRow } from "@airlock/shared/db";
import { createBatcher } from "@airlock/shared/runtime";

/** The policies of each project. */
export interface Policies {
  /** As of a moment ago, and with at least so many changes. */
  of(this: void, projectId: string, version: number): Promise<readonly PolicyRow[]>;
  /** As of now. */
  fresh(this: void, projectId: string): Promise<readonly PolicyRow[]>;
  /** Somebody changed them. */
  forget(projectIds: readonly string[]): void;
  forgetAll(): void;
}

interface Known {
  readonly version: number;
  readonly rows: readonly PolicyRow[];
}

/** How long a change whose message was lost goes unnoticed. */
const TTL_MS = 1_000;

export function createPolicies(db: Database): Policies {
  const cache = new Map<string, { known: Promise<Known>; until: number }>();
  const read = createBatcher<string, Known>((ids) => listPoliciesOf(db, ids), { maxItems: 256, maxInFlight: 2 });
  const reread = (projectId: string): Promise<Known> => {
    const known = read(projectId);
    cache.set(projectId, { known, until: Date.now() + TTL_MS });
    known.catch(() => cache.delete(projectId));
    return known;
  };
  return {
    // Whoever finds nothing waits as long as whoever comes next: calls are judged in the order in which they were made.
    of: async (projectId, version) => {
      const cached = cache.get(projectId);
      const isOld = cached === undefined || cached.until <= Date.now();
      const known = await (isOld ? reread(projectId) : cached.known);
      return known.version >= version ? known.rows : (await reread(projectId)).rows;
    },
    fresh: async (projectId) => (await reread(projectId)).rows,
    forget: (projectIds) => {
      for (const id of projectIds) cache.delete(id);
    },
    forgetAll: () => cache.clear(),
  };
}
