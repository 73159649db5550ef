import { type Database, type ProjectEnvironments, readProjectEnvironments } from "@airlock/shared/db";

/** What decides which environment a submission gets: read once, not with each task. */
export interface EnvironmentCache {
  of(projectId: string): Promise<ProjectEnvironments>;
  /** As the database has it now. */
  fresh(projectId: string): Promise<ProjectEnvironments>;
  forget(projectIds: readonly string[]): void;
  forgetAll(): void;
}

/** How long a change can go unnoticed when its message is lost. */
const TTL_MS = 3_000;
const MAX_PROJECTS = 10_000;

interface Entry {
  readonly value: Promise<ProjectEnvironments>;
  readonly until: number;
}

export function createEnvironmentCache(db: Database): EnvironmentCache {
  const entries = new Map<string, Entry>();

  function fresh(projectId: string): Promise<ProjectEnvironments> {
    const value = readProjectEnvironments(db, projectId);
    const entry = { value, until: Date.now() + TTL_MS };
    if (entries.size >= MAX_PROJECTS) entries.delete(entries.keys().next().value as string);
    entries.set(projectId, entry);
    value.catch(() => {
      if (entries.get(projectId) === entry) entries.delete(projectId);
    });
    return value;
  }

  return {
    fresh,
    of(projectId) {
      const entry = entries.get(projectId);
      return entry && entry.until > Date.now() ? entry.value : fresh(projectId);
    },
    forget(projectIds) {
      for (const id of projectIds) entries.delete(id);
    },
    forgetAll: () => entries.clear(),
  };
}
