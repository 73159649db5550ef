import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table projects add column policies_changed_at timestamptz;
    comment on column projects.policies_changed_at is 'calls that were being held then are judged once more by the sweeper';
    create index projects_policies_changed on projects (policies_changed_at) where policies_changed_at is not null;
    create index policies_lapse on policies (expires_at) where expires_at is not null;

    alter table outbox add column since timestamptz not null default now();
    comment on column outbox.since is 'when its task began to wait for a worker: came in, woke, was given back, or was due';
    create index outbox_since on outbox (project_id, since) where run_at is null;
  `.execute(db);
}
