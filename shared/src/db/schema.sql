-- Made by dump-schema.ts from the migrations; do not edit.

create table api_keys (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  hash bytea not null,
  scopes text[] not null,
  created_at timestamp with time zone not null default now(),
  revoked_at timestamp with time zone
);
alter table api_keys add constraint api_keys_hash_key UNIQUE (hash);
alter table api_keys add constraint api_keys_pkey PRIMARY KEY (id);
alter table api_keys add constraint api_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id);
CREATE INDEX api_keys_project ON public.api_keys USING btree (project_id, id);

create table approvals (
  id uuid not null,
  project_id uuid not null,
  task_id uuid not null,
  call_index integer not null,
  kind text not null,
  status text not null,
  path text not null,
  version text not null,
  default_mode text not null,
  input_hash bytea not null,
  requested_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  decided_at timestamp with time zone,
  decided_by text,
  reason text,
  edited_input text,
  answer text
);
alter table approvals add constraint approvals_pkey PRIMARY KEY (id);
alter table approvals add constraint approvals_kind_check CHECK ((kind = ANY (ARRAY['TOOL_CALL'::text, 'QUESTION'::text, 'BUDGET'::text, 'EGRESS'::text, 'UNKNOWN_OUTCOME'::text])));
alter table approvals add constraint approvals_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'APPROVED'::text, 'DENIED'::text, 'EXPIRED'::text, 'CANCELLED'::text])));
CREATE INDEX approvals_expiry ON public.approvals USING btree (expires_at) WHERE (status = 'PENDING'::text);
CREATE INDEX approvals_of_project ON public.approvals USING btree (project_id, id);
CREATE INDEX approvals_of_task ON public.approvals USING btree (task_id);
CREATE INDEX approvals_pending ON public.approvals USING btree (project_id, id) WHERE (status = 'PENDING'::text);

create table artifacts (
  id uuid not null,
  project_id uuid not null,
  task_id uuid not null,
  session text,
  name text not null,
  direction text not null,
  size bigint not null,
  content_type text not null,
  sha256 bytea not null,
  created_at timestamp with time zone not null default now()
);
alter table artifacts add constraint artifacts_pkey PRIMARY KEY (id);
alter table artifacts add constraint artifacts_content FOREIGN KEY (project_id, sha256) REFERENCES contents(project_id, sha256);
alter table artifacts add constraint artifacts_direction_check CHECK ((direction = ANY (ARRAY['INPUT'::text, 'OUTPUT'::text])));
CREATE INDEX artifacts_of_content ON public.artifacts USING btree (project_id, sha256);
CREATE INDEX artifacts_of_session ON public.artifacts USING btree (project_id, session, name, id) WHERE (session IS NOT NULL);
CREATE INDEX artifacts_of_task ON public.artifacts USING btree (task_id, id);

create table audit_log (
  id uuid not null,
  project_id uuid,
  at timestamp with time zone not null default now(),
  actor text not null,
  action text not null,
  subject text,
  data text not null
);
alter table audit_log add constraint audit_log_pkey PRIMARY KEY (id);
CREATE INDEX audit_log_of_project ON public.audit_log USING btree (project_id, id);

create table batches (
  id uuid not null,
  project_id uuid not null,
  label text,
  total integer not null,
  idempotency_key text,
  fingerprint bytea,
  created_at timestamp with time zone not null default now()
);
alter table batches add constraint batches_pkey PRIMARY KEY (id);
alter table batches add constraint batches_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id);
CREATE UNIQUE INDEX batches_idempotency ON public.batches USING btree (project_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);

create table contents (
  project_id uuid not null,
  sha256 bytea not null,
  size bigint not null,
  inline bytea,
  stored boolean not null default false,
  check_at timestamp with time zone
);
alter table contents add constraint contents_pkey PRIMARY KEY (project_id, sha256);
CREATE INDEX contents_to_check ON public.contents USING btree (check_at) WHERE (check_at IS NOT NULL);

create table environment_probes (
  id uuid not null,
  project_id uuid not null,
  provider text not null,
  definition text not null,
  asked_at timestamp with time zone not null default now(),
  worker_id uuid,
  taken_at timestamp with time zone,
  result text
);
alter table environment_probes add constraint environment_probes_pkey PRIMARY KEY (id);
CREATE INDEX environment_probes_asked ON public.environment_probes USING btree (provider) WHERE (worker_id IS NULL);

create table environment_revisions (
  environment_id uuid not null,
  revision integer not null,
  definition text not null,
  created_at timestamp with time zone not null default now(),
  created_by text not null
);
alter table environment_revisions add constraint environment_revisions_pkey PRIMARY KEY (environment_id, revision);
alter table environment_revisions add constraint environment_revisions_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES environments(id);

create table environments (
  id uuid not null,
  project_id uuid not null,
  name text not null,
  provider text not null,
  active boolean not null default true,
  revision integer not null,
  source text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now()
);
alter table environments add constraint environments_project_id_name_key UNIQUE (project_id, name);
alter table environments add constraint environments_pkey PRIMARY KEY (id);
alter table environments add constraint environments_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id);
alter table environments add constraint environments_source_check CHECK ((source = ANY (ARRAY['API'::text, 'CONFIG'::text])));

create table events (
  task_id uuid not null,
  seq integer not null,
  at timestamp with time zone not null default now(),
  type text not null,
  data text not null
);
alter table events add constraint events_pkey PRIMARY KEY (task_id, seq);

create table functions (
  project_id uuid not null,
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
  changed_at timestamp with time zone not null default now()
);
alter table functions add constraint functions_pkey PRIMARY KEY (project_id, path);
alter table functions add constraint functions_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id);

create table kept_guests (
  task_id uuid not null,
  image bytea not null,
  state bytea not null,
  calls text not null,
  settled integer not null,
  printed integer not null,
  printed_stderr integer not null default 0
);
alter table kept_guests add constraint kept_guests_pkey PRIMARY KEY (task_id);

create table kv (
  project_id uuid not null,
  key text not null,
  value text not null,
  updated_at timestamp with time zone not null default now()
);
alter table kv add constraint kv_pkey PRIMARY KEY (project_id, key);

create table leases (
  id uuid not null,
  project_id uuid not null,
  task_id uuid,
  fence integer,
  environment text not null,
  environment_id uuid,
  revision integer,
  provider text not null,
  worker_id uuid not null,
  host text not null,
  state text not null,
  policy text not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone,
  ended_at timestamp with time zone,
  attempts integer not null default 0,
  retry_at timestamp with time zone,
  error text
);
alter table leases add constraint leases_pkey PRIMARY KEY (id);
alter table leases add constraint leases_policy_check CHECK ((policy = ANY (ARRAY['EPHEMERAL'::text, 'RETAIN_ON_FAILURE'::text, 'REUSE_BY_SESSION'::text])));
alter table leases add constraint leases_state_check CHECK ((state = ANY (ARRAY['ACTIVE'::text, 'RELEASED'::text, 'FAILED'::text, 'RETAINED'::text, 'EXPIRED'::text, 'PENDING_CLEANUP'::text])));
CREATE INDEX leases_of_project ON public.leases USING btree (project_id, id);
CREATE INDEX leases_of_task ON public.leases USING btree (task_id) WHERE (task_id IS NOT NULL);
CREATE INDEX leases_open ON public.leases USING btree (provider) WHERE (ended_at IS NULL);

create table locks (
  hash bytea not null,
  content text not null,
  created_at timestamp with time zone not null default now()
);
alter table locks add constraint locks_pkey PRIMARY KEY (hash);

create table outbox (
  task_id uuid not null,
  project_id uuid not null,
  provider text not null,
  job integer not null,
  priority smallint not null,
  run_at timestamp with time zone,
  enqueued_at timestamp with time zone,
  since timestamp with time zone not null default now()
);
alter table outbox add constraint outbox_pkey PRIMARY KEY (task_id);
CREATE INDEX outbox_due ON public.outbox USING btree (run_at) WHERE (run_at IS NOT NULL);
CREATE INDEX outbox_enqueued ON public.outbox USING btree (enqueued_at) WHERE (enqueued_at IS NOT NULL);
CREATE INDEX outbox_held ON public.outbox USING btree (project_id, provider) WHERE (enqueued_at IS NOT NULL);
CREATE INDEX outbox_of_project ON public.outbox USING btree (project_id, task_id) WHERE (run_at IS NULL);
CREATE INDEX outbox_since ON public.outbox USING btree (project_id, since) WHERE (run_at IS NULL);
CREATE INDEX outbox_waiting ON public.outbox USING btree (provider, project_id, priority DESC, task_id) WHERE ((enqueued_at IS NULL) AND (run_at IS NULL));

create table policies (
  id uuid not null,
  project_id uuid not null,
  pattern text not null,
  mode text not null,
  scope text not null,
  scope_id text,
  input_hash bytea,
  expires_at timestamp with time zone,
  approval_ms bigint,
  created_by text not null,
  created_at timestamp with time zone not null default now(),
  source text not null default 'API'::text
);
alter table policies add constraint policies_pkey PRIMARY KEY (id);
alter table policies add constraint policies_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id);
alter table policies add constraint policies_mode_check CHECK ((mode = ANY (ARRAY['AUTO'::text, 'REQUIRED'::text, 'DENY'::text])));
alter table policies add constraint policies_scope_check CHECK ((scope = ANY (ARRAY['TASK'::text, 'SESSION'::text, 'PROJECT'::text])));
alter table policies add constraint policies_source_check CHECK ((source = ANY (ARRAY['API'::text, 'CONFIG'::text])));
CREATE INDEX policies_lapse ON public.policies USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX policies_of_project ON public.policies USING btree (project_id, id);

create table projects (
  id uuid not null,
  name text not null,
  weight integer not null default 1,
  bootstrap boolean not null default false,
  created_at timestamp with time zone not null default now(),
  self_approval boolean not null default false,
  policies_version integer not null default 0,
  retention_days integer,
  default_environment text,
  configured text[] not null default '{}'::text[],
  policies_changed_at timestamp with time zone
);
alter table projects add constraint projects_pkey PRIMARY KEY (id);
alter table projects add constraint projects_retention_days_check CHECK ((retention_days > 0));
alter table projects add constraint projects_weight_check CHECK (((weight >= 1) AND (weight <= 100)));
CREATE UNIQUE INDEX projects_bootstrap ON public.projects USING btree (bootstrap) WHERE bootstrap;
CREATE INDEX projects_policies_changed ON public.projects USING btree (policies_changed_at) WHERE (policies_changed_at IS NOT NULL);

create table search_backlog (
  task_id uuid not null
);

create table session_environments (
  project_id uuid not null,
  session text not null,
  environment text not null
);
alter table session_environments add constraint session_environments_pkey PRIMARY KEY (project_id, session);
alter table session_environments add constraint session_environments_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id);

create table session_files (
  task_id uuid not null,
  path text not null,
  project_id uuid not null,
  sha256 bytea not null,
  size bigint not null
);
alter table session_files add constraint session_files_pkey PRIMARY KEY (task_id, path);
alter table session_files add constraint session_files_content FOREIGN KEY (project_id, sha256) REFERENCES contents(project_id, sha256);
CREATE INDEX session_files_of_content ON public.session_files USING btree (project_id, sha256);

create table task_labels (
  task_id uuid not null,
  project_id uuid not null,
  key text not null,
  value text not null
);
alter table task_labels add constraint task_labels_pkey PRIMARY KEY (task_id, key);
CREATE INDEX task_labels_find ON public.task_labels USING btree (project_id, key, value, task_id);

create table task_search (
  task_id uuid not null,
  words tsvector not null
);
CREATE INDEX task_search_of_task ON public.task_search USING hash (task_id);
CREATE INDEX task_search_words ON public.task_search USING gin (words) WITH (gin_pending_list_limit='1024');

create table tasks (
  id uuid not null,
  project_id uuid not null,
  batch_id uuid,
  retry_of uuid,
  submitted_by uuid,
  status text not null,
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
  run_at timestamp with time zone,
  queue_expires_at timestamp with time zone,
  idempotency_key text,
  fingerprint bytea,
  seed bytea not null,
  job integer not null default 1,
  segments integer not null default 0,
  losses integer not null default 0,
  worker_id uuid,
  cancel_requested_at timestamp with time zone,
  event_seq integer not null default 0,
  recorded_output integer not null default 0,
  output text,
  exit_code integer,
  error_code text,
  error_message text,
  error_stack text,
  isolation text,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  forked_from uuid,
  calls integer not null default 0,
  completions integer not null default 0,
  wakes integer not null default 0,
  active_ms integer not null default 0,
  wake_at timestamp with time zone,
  waiting_for text,
  environment_id uuid,
  environment_revision integer,
  session_pinned boolean not null default false,
  dependencies text,
  lock_hash bytea,
  commit_hash text,
  raises integer not null default 0,
  recorded_stderr integer not null default 0,
  dropped_output integer not null default 0,
  sandbox_pin text,
  replayable boolean not null default true
);
alter table tasks add constraint tasks_pkey PRIMARY KEY (id);
alter table tasks add constraint tasks_lock_hash_fkey FOREIGN KEY (lock_hash) REFERENCES locks(hash);
alter table tasks add constraint tasks_status_check CHECK ((status = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text, 'PARKED'::text, 'SUCCEEDED'::text, 'FAILED'::text, 'CANCELLED'::text, 'TIMED_OUT'::text])));
CREATE INDEX tasks_ended ON public.tasks USING btree (project_id, status, id) WHERE (status = ANY (ARRAY['SUCCEEDED'::text, 'FAILED'::text, 'CANCELLED'::text, 'TIMED_OUT'::text]));
CREATE UNIQUE INDEX tasks_idempotency ON public.tasks USING btree (project_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX tasks_of_batch ON public.tasks USING btree (batch_id, status) WHERE (batch_id IS NOT NULL);
CREATE INDEX tasks_of_lock ON public.tasks USING btree (lock_hash) WHERE (lock_hash IS NOT NULL);
CREATE INDEX tasks_of_project ON public.tasks USING btree (project_id, id);
CREATE INDEX tasks_of_session ON public.tasks USING btree (project_id, session, id) WHERE (session IS NOT NULL);
CREATE INDEX tasks_of_worker ON public.tasks USING btree (worker_id) WHERE (status = 'RUNNING'::text);
CREATE INDEX tasks_parked ON public.tasks USING btree (project_id, id) WHERE (status = 'PARKED'::text);
CREATE INDEX tasks_queue_expiry ON public.tasks USING btree (queue_expires_at) WHERE ((status = 'QUEUED'::text) AND (queue_expires_at IS NOT NULL));
CREATE INDEX tasks_wake ON public.tasks USING btree (wake_at) WHERE ((status = 'PARKED'::text) AND (wake_at IS NOT NULL));

create table throughput (
  project_id uuid not null,
  since timestamp with time zone not null,
  worker_id uuid not null,
  finished integer not null
);
alter table throughput add constraint throughput_pkey PRIMARY KEY (project_id, since, worker_id);

create table tool_calls (
  task_id uuid not null,
  index integer not null,
  path text not null,
  sent text not null,
  input text,
  input_hash bytea not null,
  version text not null,
  status text not null,
  approval_id uuid,
  wake_at timestamp with time zone,
  output text,
  error_code text,
  error_message text,
  completion integer,
  started_at timestamp with time zone,
  finished_at timestamp with time zone
);
alter table tool_calls add constraint tool_calls_pkey PRIMARY KEY (task_id, index);
alter table tool_calls add constraint tool_calls_status_check CHECK ((status = ANY (ARRAY['WAITING'::text, 'STARTED'::text, 'SUCCEEDED'::text, 'FAILED'::text, 'DENIED'::text, 'EXPIRED'::text, 'CANCELLED'::text, 'UNKNOWN'::text])));

create table tools (
  path text not null,
  version text not null,
  description text not null,
  input_schema text not null,
  output_schema text,
  mode text not null,
  source text not null,
  published_at timestamp with time zone not null default now()
);
alter table tools add constraint tools_pkey PRIMARY KEY (path, version);
alter table tools add constraint tools_mode_check CHECK ((mode = ANY (ARRAY['AUTO'::text, 'REQUIRED'::text, 'BY_INPUT'::text])));

create table worker_providers (
  worker_id uuid not null,
  name text not null,
  capabilities text not null,
  config_schema text not null,
  isolation text,
  reason text,
  published_at timestamp with time zone not null default now()
);
alter table worker_providers add constraint worker_providers_pkey PRIMARY KEY (worker_id, name);
CREATE INDEX worker_providers_by_name ON public.worker_providers USING btree (name);

create table workers (
  id uuid not null,
  host text not null,
  version text not null,
  state text not null,
  capacity integer not null,
  running integer not null,
  providers text[] not null,
  started_at timestamp with time zone not null default now(),
  last_seen_at timestamp with time zone not null,
  tools text[] not null default '{}'::text[]
);
alter table workers add constraint workers_pkey PRIMARY KEY (id);
alter table workers add constraint workers_state_check CHECK ((state = ANY (ARRAY['RUNNING'::text, 'DRAINING'::text, 'LOST'::text, 'STOPPED'::text])));
