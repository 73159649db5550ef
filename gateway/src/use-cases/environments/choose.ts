import { type Database, environmentsOfSessions, type ProjectEnvironments } from "@airlock/shared/db";
import { BUILT_IN_ENVIRONMENTS, DEFAULT_ENVIRONMENT, type Environment } from "@airlock/shared/domain";
import type { EnvironmentCache } from "../../environment-cache.ts";

/** An environment as a submission sees it. */
export interface KnownEnvironment extends Environment {
  /** Null: a built-in one. */
  readonly id: string | null;
  readonly active: boolean;
}

/** Which environment each submission of a request gets: its own, else its session's, else the project's, else `isolate`. */
export interface EnvironmentChoice {
  nameFor(given: Wish): string;
  find(name: string): KnownEnvironment | null;
  readonly names: readonly string[];
}

interface Wish {
  readonly environment?: string | null | undefined;
  readonly session?: string | null | undefined;
}

const BUILT_IN: ReadonlyMap<string, KnownEnvironment> = new Map(
  BUILT_IN_ENVIRONMENTS.map((environment) => [environment.name, { ...environment, id: null, active: true }]),
);

interface Source {
  readonly db: Database;
  readonly environments: Pick<EnvironmentCache, "of" | "fresh">;
}

/** However many submissions a request has, each distinct name is looked up once. */
export async function chooseEnvironments(
  source: Source,
  projectId: string,
  wishes: readonly Wish[],
): Promise<EnvironmentChoice> {
  const project = await knowAll(source, projectId, namesOf(wishes));
  const sessions = project.bySession ? sessionsOf(wishes) : [];
  const bySession =
    sessions.length > 0 ? await environmentsOfSessions(source.db, projectId, sessions) : new Map<string, string>();
  const found = new Map<string, KnownEnvironment>();
  return {
    names: [...BUILT_IN.keys(), ...project.byName.keys()],
    nameFor: ({ environment, session }) =>
      environment ?? (session ? bySession.get(session) : null) ?? project.default ?? DEFAULT_ENVIRONMENT,
    find(name) {
      const known = found.get(name) ?? findIn(project, name);
      if (known !== null) found.set(name, known);
      return known;
    },
  };
}

/** One that was made on another gateway a moment ago is not refused: an unknown name is looked for again. */
async function knowAll(
  { environments }: Source,
  projectId: string,
  names: ReadonlySet<string>,
): Promise<ProjectEnvironments> {
  const cached = await environments.of(projectId);
  const unknown = [...names].some((name) => findIn(cached, name)?.active !== true);
  return unknown ? environments.fresh(projectId) : cached;
}

/** A project's own comes first: it may be older than a built-in one of its name. */
function findIn({ byName }: ProjectEnvironments, name: string): KnownEnvironment | null {
  const own = byName.get(name);
  if (!own) return BUILT_IN.get(name) ?? null;
  return { id: own.id, name, provider: own.provider, active: own.active, languages: own.definition.languages };
}

function namesOf(wishes: readonly Wish[]): Set<string> {
  const names = new Set<string>();
  for (const { environment } of wishes) if (typeof environment === "string") names.add(environment);
  return names;
}

function sessionsOf(wishes: readonly Wish[]): string[] {
  const sessions = new Set<string>();
  for (const { environment, session } of wishes) if (!environment && session) sessions.add(session);
  return [...sessions];
}
