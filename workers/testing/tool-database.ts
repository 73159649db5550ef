import type { Database } from "@airlock/shared/db";
import { createTestDatabase, openTestDatabase } from "@airlock/shared/testing";

export interface ToolDatabase {
  readonly db: Database;
  readonly projectId: string;
  drop(): Promise<void>;
}

export async function openToolDatabase(): Promise<ToolDatabase> {
  const database = await createTestDatabase();
  const { db, projectId } = await openTestDatabase(database.url);
  const drop = async (): Promise<void> => {
    await db.destroy();
    await database.drop();
  };
  return { db, projectId, drop };
}
