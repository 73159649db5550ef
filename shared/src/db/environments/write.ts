import { sql } from "kysely";
import { newId } from "../../contracts/index.ts";
import type { EnvironmentDefinition } from "../../domain/index.ts";
import type { Database } from "../database.ts";
import { type EnvironmentRow, findEnvironment } from "./read.ts";

export interface NewEnvironment {
  readonly projectId: string;
  readonly name: string;
  readonly source: "API" | "CONFIG";
  readonly definition: EnvironmentDefinition;
  readonly createdBy: string;
}

/** Null where the project has one of this name already. */
export async function insertEnvironment(tx: Database, environment: NewEnvironment): Promise<EnvironmentRow | null> {
  const { projectId, name, source, definition, createdBy } = environment;
  const row = await tx
    .insertInto("environments")
    .values({ id: newId(), project_id: projectId, name, source, provider: definition.provider, revision: 1 })
    .onConflict((conflict) => conflict.columns(["project_id", "name"]).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!row) return null;
  await insertRevision(tx, row.id, 1, definition, createdBy);
  return { ...row, definition };
}

/** Holds the environment's row until the transaction ends: changes take their turns. */
export async function lockEnvironment(tx: Database, projectId: string, name: string): Promise<EnvironmentRow | null> {
  await sql`
    select from environments where project_id = ${projectId} and name = ${name} for update
  `.execute(tx);
  return findEnvironment(tx, projectId, name);
}

/** A new revision with this definition. */
export async function reviseEnvironment(
  tx: Database,
  row: EnvironmentRow,
  change: { definition: EnvironmentDefinition; active: boolean; source?: "API" | "CONFIG"; createdBy: string },
): Promise<EnvironmentRow> {
  const { definition, active, source = row.source, createdBy } = change;
  const revision = row.revision + 1;
  await insertRevision(tx, row.id, revision, definition, createdBy);
  const updated = await tx
    .updateTable("environments")
    .set({ revision, active, source, updated_at: sql<Date>`now()` })
    .where("id", "=", row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return { ...updated, definition };
}

/** Its definition stays as it is. */
export async function setEnvironmentActive(
  tx: Database,
  row: EnvironmentRow,
  change: { active: boolean; source?: "API" | "CONFIG" },
): Promise<EnvironmentRow> {
  const updated = await tx
    .updateTable("environments")
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where("id", "=", row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return { ...updated, definition: row.definition };
}

async function insertRevision(
  tx: Database,
  environmentId: string,
  revision: number,
  definition: EnvironmentDefinition,
  createdBy: string,
): Promise<void> {
  await tx
    .insertInto("environment_revisions")
    .values({
      environment_id: environmentId,
      revision,
      definition: JSON.stringify(definition),
      created_by: createdBy,
    })
    .execute();
}

/** Null: `isolate`. */
export async function setDefaultEnvironment(db: Database, projectId: string, name: string | null): Promise<void> {
  await db.updateTable("projects").set({ default_environment: name }).where("id", "=", projectId).execute();
}

/** Null: the project's default. */
export async function setSessionEnvironment(
  db: Database,
  { projectId, session, environment }: { projectId: string; session: string; environment: string | null },
): Promise<void> {
  if (environment === null) {
    await db
      .deleteFrom("session_environments")
      .where("project_id", "=", projectId)
      .where("session", "=", session)
      .execute();
    return;
  }
  await db
    .insertInto("session_environments")
    .values({ project_id: projectId, session, environment })
    .onConflict((conflict) => conflict.columns(["project_id", "session"]).doUpdateSet({ environment }))
    .execute();
}
