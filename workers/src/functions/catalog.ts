import { type Database, type FunctionRow, listFunctionsOf } from "@airlock/shared/db";
import { createBatcher } from "@airlock/shared/runtime";

/** The functions of each project, which its tasks call as tools. */
export interface FunctionCatalog {
  find(projectId: string, path: string): Promise<FunctionRow | undefined>;
  /** Somebody changed them. */
  forget(projectIds: readonly string[]): void;
  forgetAll(): void;
}

/** How long a change whose message was lost goes unnoticed. */
const TTL_MS = 1_000;
const MAX_PROJECTS = 1_000;

type ByPath = ReadonlyMap<string, FunctionRow>;

export function createFunctionCatalog(db: Database): FunctionCatalog {
  const cache = new Map<string, { known: Promise<ByPath>; until: number }>();
  const read = createBatcher<string, FunctionRow[]>((ids) => listFunctionsOf(db, ids), { maxItems: 256 });

  function reread(projectId: string): Promise<ByPath> {
    const known = read(projectId).then((rows) => new Map(rows.map((row) => [row.path, row])));
    if (cache.size >= MAX_PROJECTS) cache.delete(cache.keys().next().value as string);
    cache.set(projectId, { known, until: Date.now() + TTL_MS });
    known.catch(() => cache.delete(projectId));
    return known;
  }

  return {
    async find(projectId, path) {
      const cached = cache.get(projectId);
      return (await (cached && cached.until > Date.now() ? cached.known : reread(projectId))).get(path);
    },
    forget: (projectIds) => {
      for (const id of projectIds) cache.delete(id);
    },
    forgetAll: () => cache.clear(),
  };
}
