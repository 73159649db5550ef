import { type Selectable, sql } from "kysely";
import type { EnvironmentDefinition } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import type { Tables } from "../tables.ts";

/** An environment that a project made, with one of its revisions. */
export type EnvironmentRow = Omit<Selectable<Tables["environments"]>, "revision"> & {
  readonly revision: number;
  readonly definition: EnvironmentDefinition;
};

type StoredRow = Omit<EnvironmentRow, "definition"> & { readonly definition: string };

const toRow = (row: StoredRow): EnvironmentRow => ({
  ...row,
  definition: JSON.parse(row.definition) as EnvironmentDefinition,
});

const NEWEST = sql`
  select e.*, r.definition from environments e
  join environment_revisions r on r.environment_id = e.id and r.revision = e.revision
`;

/** By name, each with its newest revision. */
export async function listEnvironments(db: Database, projectId: string): Promise<EnvironmentRow[]> {
  const { rows } = await sql<StoredRow>`${NEWEST} where e.project_id = ${projectId} order by e.name`.execute(db);
  return rows.map(toRow);
}

export async function findEnvironment(db: Database, projectId: string, name: string): Promise<EnvironmentRow | null> {
  const { rows } = await sql<StoredRow>`
    ${NEWEST} where e.project_id = ${projectId} and e.name = ${name}
  `.execute(db);
  return rows[0] ? toRow(rows[0]) : null;
}

/** A name as a task's submission needs it. */
export interface EnvironmentName {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly active: boolean;
  readonly definition: EnvironmentDefinition;
}

/** What decides which environment a project's tasks get. */
export interface ProjectEnvironments {
  readonly byName: ReadonlyMap<string, EnvironmentName>;
  /** By name; null: `isolate`. */
  readonly default: string | null;
  /** Whether any session has an environment of its own. */
  readonly bySession: boolean;
}

export async function readProjectEnvironments(db: Database, projectId: string): Promise<ProjectEnvironments> {
  const [{ rows }, environments] = await Promise.all([
    sql<{ default_environment: string | null; by_session: boolean }>`
      select default_environment,
        exists (select from session_environments s where s.project_id = p.id) as by_session
      from projects p where id = ${projectId}
    `.execute(db),
    listEnvironments(db, projectId),
  ]);
  return {
    byName: new Map(environments.map((environment) => [environment.name, environment])),
    default: rows[0]?.default_environment ?? null,
    bySession: rows[0]?.by_session ?? false,
  };
}

/** Session → environment, of those that have one. */
export async function environmentsOfSessions(
  db: Database,
  projectId: string,
  sessions: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom("session_environments")
    .select(["session", "environment"])
    .where("project_id", "=", projectId)
    .where("session", "=", sql<string>`any(${sessions}::text[])`)
    .execute();
  return new Map(rows.map((row) => [row.session, row.environment]));
}

/** The environment of a claimed task, as this run of it has to use it. */
export interface TaskEnvironment {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly revision: number;
  /** An earlier segment pinned the revision. */
  readonly pinned: boolean;
  readonly definition: EnvironmentDefinition;
}

/** The pinned revision, else the newest; null where the environment is gone. */
export async function environmentOfTask(db: Database, taskId: string): Promise<TaskEnvironment | null> {
  const { rows } = await sql<Omit<TaskEnvironment, "definition"> & { definition: string }>`
    select e.id, e.name, e.active, r.revision, t.environment_revision is not null as pinned, r.definition
    from tasks t join environments e on e.id = t.environment_id
    join environment_revisions r
      on r.environment_id = e.id and r.revision = coalesce(t.environment_revision, e.revision)
    where t.id = ${taskId}
  `.execute(db);
  const [row] = rows;
  return row ? { ...row, definition: JSON.parse(row.definition) as EnvironmentDefinition } : null;
}

export interface EnvironmentNote {
  readonly taskId: string;
  readonly fence: number;
  /** Null: a built-in environment has none. */
  readonly revision: number | null;
  /** What was proved of its configuration by itself; null: nothing. */
  readonly isolation: unknown;
  /** What its configuration stands for now; null: nothing that can change. */
  readonly pin: string | null;
}

/** From now on every run of the task uses this revision and this pin. False where the fence is lost. */
export async function noteEnvironment(db: Database, note: EnvironmentNote): Promise<boolean> {
  const { taskId, fence, revision, isolation, pin } = note;
  const result = await db
    .updateTable("tasks")
    .set({
      environment_revision: revision,
      sandbox_pin: pin,
      ...(isolation !== null && { isolation: JSON.stringify(isolation) }),
    })
    .where("id", "=", taskId)
    .where("segments", "=", fence)
    .where("status", "=", "RUNNING")
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}
