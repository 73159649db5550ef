import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tasks add column replayable boolean not null default true;
    comment on column tasks.replayable is 'false: its program is run at most once, so it never parks and is never given back once it may have begun';
  `.execute(db);
}
