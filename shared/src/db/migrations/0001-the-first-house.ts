import { type Kysely, sql } from "kysely";

/**
 * Users' JSON is `text`: jsonb refuses NUL and reorders keys. The hot tables (`events`, `outbox`, `task_labels`) carry
 * no foreign keys: their rows are only ever written in the transaction that writes the task, and the checks would cost
 * a lookup per row on the main road.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table projects (
      id uuid primary key,
      name text not null,
      weight integer not null default 1 check (weight between 1 and 100),
      bootstrap boolean not null default false,
      created_at timestamptz not null default now()
    );
    create unique index projects_bootstrap on projects (bootstrap) where bootstrap;

    create table api_keys (
      id uuid primary key,
      project_id uuid not null references projects (id),
      name text not null,
      hash bytea not null unique,
      scopes text[] not null,
      created_at timestamptz not null default now(),
      revoked_at timestamptz
    );
    create index api_keys_project on api_keys (project_id, id);

    create table batches (
      id uuid primary key,
      project_id uuid not null references projects (id),
      label text,
      total integer not null,
      idempotency_key text,
      fingerprint bytea,
      created_at timestamptz not null default now()
    );
    create unique index batches_idempotency on batches (project_id, idempotency_key) where idempotency_key is not null;

    create table tasks (
      id uuid primary key,
      project_id uuid not null,
      batch_id uuid,
      retry_of uuid,
      submitted_by uuid,
      status text not null check (
        status in ('QUEUED', 'RUNNING', 'PARKED', 'SUCCEEDED', 'FAILED', 'CANCELLED', 'TIMED_OUT')
      ),
      language text not null,
      environment text not null,
      provider text not null,
      code text not null,
      input text,
      session text,
      priority smallint not null,
      timeout_ms integer,
      queue_ttl_ms bigint,
      max_tool_calls integer,
      run_at timestamptz,
      queue_expires_at timestamptz,
      idempotency_key text,
      fingerprint bytea,
      seed bytea not null,
      job integer not null default 1,
      segments integer not null default 0,
      losses integer not null default 0,
      worker_id uuid,
      cancel_requested_at timestamptz,
      event_seq integer not null default 0,
      recorded_output integer not null default 0,
      output text,
      exit_code integer,
      error_code text,
      error_message text,
      error_stack text,
      isolation text,
      created_at timestamptz not null default now(),
      started_at timestamptz,
      finished_at timestamptz
    );
    comment on column tasks.job is 'number of the newest queue job; a job with another number is stale';
    comment on column tasks.segments is 'how often the task was claimed; the fence of the segment that runs';
    comment on column tasks.losses is 'segments that ended with their worker or sandbox';
    comment on column tasks.recorded_output is 'characters of output in the event log; a re-run skips as many';
    create index tasks_of_project on tasks (project_id, id);
    create index tasks_of_batch on tasks (batch_id, status) where batch_id is not null;
    create index tasks_of_worker on tasks (worker_id) where status = 'RUNNING';
    create index tasks_parked on tasks (project_id) where status = 'PARKED';
    create index tasks_queue_expiry on tasks (queue_expires_at) where status = 'QUEUED' and queue_expires_at is not null;
    create unique index tasks_idempotency on tasks (project_id, idempotency_key) where idempotency_key is not null;

    create table task_labels (
      task_id uuid not null,
      project_id uuid not null,
      key text not null,
      value text not null,
      primary key (task_id, key)
    );
    comment on column task_labels.value is 'JSON text of a scalar';
    create index task_labels_find on task_labels (project_id, key, value, task_id);

    create table outbox (
      task_id uuid primary key,
      project_id uuid not null,
      provider text not null,
      job integer not null,
      priority smallint not null,
      run_at timestamptz,
      enqueued_at timestamptz
    );
    comment on table outbox is 'one row for each QUEUED task; gone when a worker claims it';
    comment on column outbox.run_at is 'null: runnable now';
    comment on column outbox.enqueued_at is 'when a job was put into BullMQ; null: waits here';
    create index outbox_waiting on outbox (provider, project_id, priority desc, task_id)
      where enqueued_at is null and run_at is null;
    create index outbox_held on outbox (project_id, provider) where enqueued_at is not null;
    create index outbox_enqueued on outbox (enqueued_at) where enqueued_at is not null;
    create index outbox_due on outbox (run_at) where run_at is not null;

    create table events (
      task_id uuid not null,
      seq integer not null,
      at timestamptz not null default now(),
      type text not null,
      data text not null,
      primary key (task_id, seq)
    );

    create table workers (
      id uuid primary key,
      host text not null,
      version text not null,
      state text not null check (state in ('RUNNING', 'DRAINING', 'LOST', 'STOPPED')),
      capacity integer not null,
      running integer not null,
      providers text[] not null,
      started_at timestamptz not null default now(),
      last_seen_at timestamptz not null
    );

    create table audit_log (
      id uuid primary key,
      project_id uuid,
      at timestamptz not null default now(),
      actor text not null,
      action text not null,
      subject text,
      data text not null
    );
    create index audit_log_of_project on audit_log (project_id, id);
  `.execute(db);
}
