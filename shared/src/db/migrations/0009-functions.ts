import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table functions (
      project_id uuid not null references projects (id),
      path text not null,
      description text not null,
      input_schema text not null,
      code text not null,
      language text not null,
      environment text not null,
      mode text not null,
      timeout_ms integer not null,
      version text not null,
      created_by text not null,
      changed_at timestamptz not null default now(),
      primary key (project_id, path)
    );
    comment on column functions.version is 'hash of all that decides what a call does: an approval is bound to it';
  `.execute(db);
}
