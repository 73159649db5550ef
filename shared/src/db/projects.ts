import type { Selectable } from "kysely";
import { newId } from "../contracts/index.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

export type ProjectRow = Selectable<Tables["projects"]>;

export async function insertProject(db: Database, name: string, selfApproval = false): Promise<ProjectRow> {
  const values = { id: newId(), name, self_approval: selfApproval };
  return db.insertInto("projects").values(values).returningAll().executeTakeFirstOrThrow();
}

export async function findProject(db: Database, id: string): Promise<ProjectRow | null> {
  const row = await db.selectFrom("projects").selectAll().where("id", "=", id).executeTakeFirst();
  return row ?? null;
}

/** Which of the project's settings a configuration file sets. */
export async function setConfigured(db: Database, projectId: string, columns: readonly string[]): Promise<void> {
  await db
    .updateTable("projects")
    .set({ configured: [...columns] })
    .where("id", "=", projectId)
    .execute();
}

/** The project that exists from the first start and whose admins may make others. */
export async function ensureBootstrapProject(db: Database): Promise<ProjectRow> {
  await db
    .insertInto("projects")
    .values({ id: newId(), name: "default", bootstrap: true, self_approval: true })
    .onConflict((conflict) => conflict.column("bootstrap").where("bootstrap", "=", true).doNothing())
    .execute();
  return db.selectFrom("projects").selectAll().where("bootstrap", "=", true).executeTakeFirstOrThrow();
}
