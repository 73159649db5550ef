import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    comment on column tasks.calls is 'the index of the next call; a segment that was lost may have left a gap';

    alter table tasks add column raises integer not null default 0;
    comment on column tasks.raises is 'approved budgets of the tasks that this one is a fork of';
  `.execute(db);
}
