import { type Selectable, sql } from "kysely";
import { newId } from "../contracts/index.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

export type ApiKeyRow = Selectable<Tables["api_keys"]>;

export const SCOPES = ["submit", "read", "approve", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who is asking: a key that is not revoked, and its project. */
export interface Caller {
  readonly keyId: string;
  readonly keyName: string;
  readonly projectId: string;
  readonly scopes: readonly string[];
  /** The key belongs to the bootstrap project, whose admins rule the installation. */
  readonly bootstrap: boolean;
}

export async function findCaller(db: Database, hash: Buffer): Promise<Caller | null> {
  const row = await db
    .selectFrom("api_keys as k")
    .innerJoin("projects as p", "p.id", "k.project_id")
    .select(["k.id as keyId", "k.name as keyName", "k.project_id as projectId", "k.scopes", "p.bootstrap"])
    .where("k.hash", "=", hash)
    .where("k.revoked_at", "is", null)
    .executeTakeFirst();
  return row ?? null;
}

export async function insertApiKey(
  db: Database,
  key: { projectId: string; name: string; hash: Buffer; scopes: readonly string[] },
): Promise<ApiKeyRow> {
  return db
    .insertInto("api_keys")
    .values({ id: newId(), project_id: key.projectId, name: key.name, hash: key.hash, scopes: [...key.scopes] })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Null where there is no such key within reach; `projectId` null reaches all projects. Revoking twice is no change. */
export async function revokeApiKey(db: Database, id: string, projectId: string | null): Promise<ApiKeyRow | null> {
  let query = db
    .updateTable("api_keys")
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())` })
    .where("id", "=", id);
  if (projectId !== null) query = query.where("project_id", "=", projectId);
  const row = await query.returningAll().executeTakeFirst();
  return row ?? null;
}

/** Which of the keys are not valid any more. */
export async function findRevokedKeys(db: Database, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom("api_keys")
    .select("id")
    .where("id", "=", sql<string>`any(${ids}::uuid[])`)
    .where("revoked_at", "is not", null)
    .execute();
  return rows.map((row) => row.id);
}

const ADMIN_KEY_NAME = "AIRLOCK_ADMIN_KEY";

/** The configured admin key is valid, and the ones configured before it are not. */
export async function ensureAdminKey(db: Database, projectId: string, hash: Buffer): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable("api_keys")
      .set({ revoked_at: sql<Date>`now()` })
      .where("project_id", "=", projectId)
      .where("name", "=", ADMIN_KEY_NAME)
      .where("hash", "<>", hash)
      .where("revoked_at", "is", null)
      .execute();
    await tx
      .insertInto("api_keys")
      .values({ id: newId(), project_id: projectId, name: ADMIN_KEY_NAME, hash, scopes: ["admin"] })
      .onConflict((conflict) => conflict.column("hash").doUpdateSet({ revoked_at: null }))
      .execute();
  });
}
