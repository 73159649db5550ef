import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table projects add column retention_days integer check (retention_days > 0);
    comment on column projects.retention_days is 'ended tasks are deleted when they are this old; null: never';
  `.execute(db);
}
