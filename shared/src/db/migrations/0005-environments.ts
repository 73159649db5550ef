import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table environments (
      id uuid primary key,
      project_id uuid not null references projects (id),
      name text not null,
      provider text not null,
      active boolean not null default true,
      revision integer not null,
      source text not null check (source in ('API', 'CONFIG')),
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      unique (project_id, name)
    );
    comment on column environments.provider is 'never changes: tasks wait in its queue';
    comment on column environments.revision is 'the newest, which tasks get that start now';

    create table environment_revisions (
      environment_id uuid not null references environments (id),
      revision integer not null,
      definition text not null,
      created_at timestamptz not null default now(),
      created_by text not null,
      primary key (environment_id, revision)
    );
    comment on table environment_revisions is 'never changed: a task runs again with the one that it began with';
    comment on column environment_revisions.definition is 'JSON text';

    create table session_environments (
      project_id uuid not null references projects (id),
      session text not null,
      environment text not null,
      primary key (project_id, session)
    );

    alter table projects add column default_environment text;
    comment on column projects.default_environment is 'by name; null: isolate';

    alter table tasks add column environment_id uuid, add column environment_revision integer;
    comment on column tasks.environment_id is 'null: a built-in one';
    comment on column tasks.environment_revision is 'pinned by the first segment';

    create table worker_providers (
      worker_id uuid not null,
      name text not null,
      capabilities text not null,
      config_schema text not null,
      isolation text,
      reason text,
      published_at timestamptz not null default now(),
      primary key (worker_id, name)
    );
    comment on column worker_providers.isolation is 'JSON text of what was proved; null: its probe failed';
    comment on column worker_providers.reason is 'why its probe failed';
    create index worker_providers_by_name on worker_providers (name);

    create table environment_probes (
      id uuid primary key,
      project_id uuid not null,
      provider text not null,
      definition text not null,
      asked_at timestamptz not null default now(),
      worker_id uuid,
      taken_at timestamptz,
      result text
    );
    comment on column environment_probes.result is 'JSON text; null: not answered yet';
    create index environment_probes_asked on environment_probes (provider) where worker_id is null;

    create table leases (
      id uuid primary key,
      project_id uuid not null,
      task_id uuid,
      fence integer,
      environment text not null,
      environment_id uuid,
      revision integer,
      provider text not null,
      worker_id uuid not null,
      host text not null,
      state text not null check (
        state in ('ACTIVE', 'RELEASED', 'FAILED', 'RETAINED', 'EXPIRED', 'PENDING_CLEANUP')
      ),
      policy text not null check (policy in ('EPHEMERAL', 'RETAIN_ON_FAILURE', 'REUSE_BY_SESSION')),
      created_at timestamptz not null default now(),
      expires_at timestamptz,
      ended_at timestamptz,
      attempts integer not null default 0,
      retry_at timestamptz,
      error text
    );
    comment on table leases is 'of providers whose sandboxes can outlive their worker; written before the sandbox is made';
    comment on column leases.task_id is 'null: of a probe';
    comment on column leases.host is 'of the worker that made it';
    comment on column leases.expires_at is 'until when a retained one is kept';
    comment on column leases.ended_at is 'since when its sandbox is known to be gone';
    comment on column leases.attempts is 'of destroying it, that failed';
    create index leases_of_project on leases (project_id, id);
    create index leases_of_task on leases (task_id) where task_id is not null;
    create index leases_open on leases (provider) where ended_at is null;
  `.execute(db);
}
