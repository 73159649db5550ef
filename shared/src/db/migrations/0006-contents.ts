import { type Kysely, sql } from "kysely";

/**
 * The bytes of artifacts get rows of their own, one for each content and project. That a content lives as long as
 * anything refers to it is the foreign keys' work: no other part has to count.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table contents (
      project_id uuid not null,
      sha256 bytea not null,
      size bigint not null,
      inline bytea,
      stored boolean not null default false,
      check_at timestamptz,
      primary key (project_id, sha256)
    );
    comment on column contents.inline is 'the bytes; null: they are in the artifact store';
    comment on column contents.stored is 'the artifact store may have the bytes';
    comment on column contents.check_at is 'from then on it is deleted if nothing refers to it; null: something does';
    create index contents_to_check on contents (check_at) where check_at is not null;
    insert into contents (project_id, sha256, size, inline)
      select distinct on (project_id, sha256) project_id, sha256, size, content from artifacts;

    alter table artifacts
      drop column content,
      add constraint artifacts_content foreign key (project_id, sha256) references contents;
    create index artifacts_of_content on artifacts (project_id, sha256);

    create table session_files (
      task_id uuid not null,
      path text not null,
      project_id uuid not null,
      sha256 bytea not null,
      size bigint not null,
      primary key (task_id, path),
      constraint session_files_content foreign key (project_id, sha256) references contents
    );
    comment on table session_files is 'what a task found in its work area of earlier tasks of its session, at its first start';
    create index session_files_of_content on session_files (project_id, sha256);
    alter table tasks add column session_pinned boolean not null default false;
    comment on column tasks.session_pinned is 'session_files has all that there will be';
  `.execute(db);
}
