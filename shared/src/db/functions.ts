import { type Selectable, sql } from "kysely";
import type { EnvironmentDefinition } from "../domain/index.ts";
import type { Database } from "./database.ts";
import { findEnvironment } from "./environments/index.ts";
import { oneOf } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** A program that a project calls as a tool. */
export type FunctionRow = Selectable<Tables["functions"]>;

export type NewFunction = Omit<FunctionRow, "changed_at">;

/** By path, of many projects at once, in the order asked. */
export async function listFunctionsOf(db: Database, projectIds: readonly string[]): Promise<FunctionRow[][]> {
  const { rows } = await sql<FunctionRow>`
    select * from functions where project_id = ${oneOf("uuid", projectIds)} order by path
  `.execute(db);
  const byProject = Map.groupBy(rows, (row) => row.project_id);
  return projectIds.map((id) => byProject.get(id) ?? []);
}

export async function putFunction(db: Database, one: NewFunction): Promise<FunctionRow> {
  return db
    .insertInto("functions")
    .values(one)
    .onConflict((conflict) =>
      conflict.columns(["project_id", "path"]).doUpdateSet({ ...one, changed_at: sql<Date>`now()` }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteFunction(db: Database, projectId: string, path: string): Promise<FunctionRow | null> {
  const row = await db
    .deleteFrom("functions")
    .where("project_id", "=", projectId)
    .where("path", "=", path)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** The environment of that name, as the project has it now; null where it has none of its own, or not any more. */
export async function functionEnvironment(
  db: Database,
  projectId: string,
  name: string,
): Promise<EnvironmentDefinition | null> {
  const row = await findEnvironment(db, projectId, name);
  return row?.active ? row.definition : null;
}
