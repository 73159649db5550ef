import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    comment on column tasks.calls is 'the index of the next call; a segment that was lost may have left a gap';

    alter table tasks
      add column raises integer not null default 0,
      add column recorded_stderr integer not null default 0,
      add column dropped_output integer not null default 0;
    comment on column tasks.raises is 'approved budgets of the tasks that this one is a fork of';
    comment on column tasks.recorded_output is 'characters of output in the event log';
    comment on column tasks.recorded_stderr is 'those of them that were printed to stderr: a re-run skips as many of each stream';
    comment on column tasks.dropped_output is 'bytes of output that task.output_truncated has told of';

    alter table kept_guests add column printed_stderr integer not null default 0;
    comment on column kept_guests.printed_stderr is 'those of printed that were printed to stderr';
  `.execute(db);
}
