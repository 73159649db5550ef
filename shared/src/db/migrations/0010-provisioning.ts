import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table locks (
      hash bytea primary key,
      content text not null,
      created_at timestamptz not null default now()
    );
    comment on table locks is 'what dependencies were resolved to; never changed';
    comment on column locks.hash is 'SHA-256 of the content';
    comment on column locks.content is 'a package-lock.json, without where packages come from';

    alter table tasks
      add column dependencies text,
      add column lock_hash bytea references locks,
      add column commit_hash text;
    comment on column tasks.dependencies is 'JSON text, names sorted; null: none';
    comment on column tasks.lock_hash is 'pinned by the first segment that installs';
    comment on column tasks.commit_hash is 'of the environment''s repository; pinned by the first segment that clones';
    create index tasks_of_lock on tasks (lock_hash) where lock_hash is not null;
  `.execute(db);
}
