import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tasks add column sandbox_pin text;
    comment on column tasks.sandbox_pin is 'what the configuration stood for when the first segment began: an image''s content';
  `.execute(db);
}
