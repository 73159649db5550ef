import { type Kysely, sql } from "kysely";

/**
 * `task_search` has a hash index and none that is ordered: there is then no way through it but by task or by word, and
 * no plan that reads it from end to end because it takes a word to be common.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table task_search (
      task_id uuid not null,
      words tsvector not null
    );
    comment on table task_search is 'what a search finds tasks by; written behind their submission and their end';
    create index task_search_of_task on task_search using hash (task_id);
    create index task_search_words on task_search using gin (words) with (gin_pending_list_limit = 1024);

    create table search_backlog (task_id uuid not null);
    comment on table search_backlog is 'tasks whose row of task_search is missing or out of date; a task may be in it twice';
    insert into search_backlog (task_id) select id from tasks;

    create index tasks_ended on tasks (project_id, status, id)
      where status in ('SUCCEEDED', 'FAILED', 'CANCELLED', 'TIMED_OUT');
    create index tasks_of_session on tasks (project_id, session, id) where session is not null;
    drop index tasks_parked;
    create index tasks_parked on tasks (project_id, id) where status = 'PARKED';
    create index outbox_of_project on outbox (project_id, task_id) where run_at is null;

    create table throughput (
      project_id uuid not null,
      since timestamptz not null,
      worker_id uuid not null,
      finished integer not null,
      primary key (project_id, since, worker_id)
    );
    comment on table throughput is 'tasks that ended on a worker in the ten seconds from then on; the last minutes only';
  `.execute(db);
}
