import { Kysely, PostgresDialect } from "kysely";
import { Migrator } from "kysely/migration";
import pg from "pg";
import { migrations } from "./migrations/index.ts";

/** Spells "ALCK". */
const MIGRATION_LOCK = 0x414c434b;

/**
 * Applies what is missing. Two programs starting at once is normal: the second waits for the first. The lock is ours
 * and not the migrator's, because creating the migrator's own tables races too.
 */
export async function migrateToLatest(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const lock = await pool.connect();
  try {
    await lock.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve(migrations) } });
    const { error } = await migrator.migrateToLatest();
    if (error) throw new Error("the database could not be migrated", { cause: error });
  } finally {
    // The session ends with its lock, whatever state the connection is in.
    lock.release(true);
    await db.destroy();
  }
}
