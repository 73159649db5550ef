import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table projects add column configured text[] not null default '{}';
    comment on column projects.configured is 'columns that a configuration file sets, so that the API does not';

    alter table policies add column source text not null default 'API' check (source in ('API', 'CONFIG'));
  `.execute(db);
}
