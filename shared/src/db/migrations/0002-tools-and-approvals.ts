import { type Kysely, sql } from "kysely";

/**
 * Like the other hot tables, `tool_calls`, `approvals` and `kept_guests` carry no foreign keys: their rows are written
 * in statements that hold the task's row and its fence.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table projects
      add column self_approval boolean not null default false,
      add column policies_version integer not null default 0;
    comment on column projects.policies_version is 'changes of the project''s policies; a claim tells it to the worker';
    update projects set self_approval = true where bootstrap;

    alter table tasks
      add column forked_from uuid,
      add column calls integer not null default 0,
      add column completions integer not null default 0,
      add column wakes integer not null default 0,
      add column active_ms integer not null default 0,
      add column wake_at timestamptz,
      add column waiting_for text;
    comment on column tasks.calls is 'rows in tool_calls: the index of the next one';
    comment on column tasks.completions is 'calls that have an outcome; their order is tool_calls.completion';
    comment on column tasks.wakes is 'outcomes stored for the task; a segment parks only if it has seen them all';
    comment on column tasks.active_ms is 'active time of the segments that have ended';
    comment on column tasks.wake_at is 'when a PARKED task is woken by the clock';
    create index tasks_wake on tasks (wake_at) where status = 'PARKED' and wake_at is not null;

    create table tool_calls (
      task_id uuid not null,
      index integer not null,
      path text not null,
      sent text not null,
      input text,
      input_hash bytea not null,
      version text not null,
      status text not null check (
        status in ('WAITING', 'STARTED', 'SUCCEEDED', 'FAILED', 'DENIED', 'EXPIRED', 'CANCELLED', 'UNKNOWN')
      ),
      approval_id uuid,
      wake_at timestamptz,
      output text,
      error_code text,
      error_message text,
      completion integer,
      started_at timestamptz,
      finished_at timestamptz,
      primary key (task_id, index)
    );
    comment on table tool_calls is 'the journal';
    comment on column tool_calls.sent is 'JSON text of the input as the guest sent it';
    comment on column tool_calls.input is 'JSON text with defaults filled in; null: as sent';
    comment on column tool_calls.version is 'version of the tool''s schema that the input was checked against';
    comment on column tool_calls.wake_at is 'when a sleep ends';

    create table approvals (
      id uuid primary key,
      project_id uuid not null,
      task_id uuid not null,
      call_index integer not null,
      kind text not null check (kind in ('TOOL_CALL', 'QUESTION', 'BUDGET', 'EGRESS', 'UNKNOWN_OUTCOME')),
      status text not null check (status in ('PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED')),
      path text not null,
      version text not null,
      default_mode text not null,
      input_hash bytea not null,
      requested_at timestamptz not null default now(),
      expires_at timestamptz not null,
      decided_at timestamptz,
      decided_by text,
      reason text,
      edited_input text,
      answer text
    );
    comment on column approvals.default_mode is 'what the tool itself asks for with this input, below all policies';
    comment on column approvals.answer is 'JSON text: the answer to a question';
    create index approvals_of_project on approvals (project_id, id);
    create index approvals_pending on approvals (project_id, id) where status = 'PENDING';
    create index approvals_of_task on approvals (task_id);
    create index approvals_expiry on approvals (expires_at) where status = 'PENDING';

    create table kept_guests (
      task_id uuid primary key,
      image bytea not null,
      state bytea not null,
      calls text not null,
      settled integer not null,
      printed integer not null
    );
    comment on table kept_guests is 'snapshots of parked guests';
    comment on column kept_guests.image is 'hash of the boot image that the state is the difference from';
    comment on column kept_guests.calls is 'JSON: [guest''s call id, journal index] of the calls that the guest waits for';
    comment on column kept_guests.settled is 'completions that the guest has been given';
    comment on column kept_guests.printed is 'characters of output that were recorded when it was kept';
    alter table kept_guests alter column state set storage external;

    create table policies (
      id uuid primary key,
      project_id uuid not null references projects (id),
      pattern text not null,
      mode text not null check (mode in ('AUTO', 'REQUIRED', 'DENY')),
      scope text not null check (scope in ('TASK', 'SESSION', 'PROJECT')),
      scope_id text,
      input_hash bytea,
      expires_at timestamptz,
      approval_ms bigint,
      created_by text not null,
      created_at timestamptz not null default now()
    );
    comment on column policies.scope_id is 'the task or session that it holds for';
    comment on column policies.input_hash is 'holds only for calls with this hash';
    create index policies_of_project on policies (project_id, id);

    create table tools (
      path text not null,
      version text not null,
      description text not null,
      input_schema text not null,
      output_schema text,
      mode text not null check (mode in ('AUTO', 'REQUIRED', 'BY_INPUT')),
      source text not null,
      published_at timestamptz not null default now(),
      primary key (path, version)
    );
    alter table workers add column tools text[] not null default '{}';
    comment on column workers.tools is 'path@version of each tool that the worker has';

    create table kv (
      project_id uuid not null,
      key text not null,
      value text not null,
      updated_at timestamptz not null default now(),
      primary key (project_id, key)
    );

    create table artifacts (
      id uuid primary key,
      project_id uuid not null,
      task_id uuid not null,
      session text,
      name text not null,
      direction text not null check (direction in ('INPUT', 'OUTPUT')),
      size bigint not null,
      content_type text not null,
      sha256 bytea not null,
      content bytea not null,
      created_at timestamptz not null default now()
    );
    create index artifacts_of_task on artifacts (task_id, id);
    create index artifacts_of_session on artifacts (project_id, session, name, id) where session is not null;
  `.execute(db);
}
