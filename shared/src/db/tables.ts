import type { ColumnType, Generated } from "kysely";
import type {
  ApprovalKind,
  ApprovalStatus,
  Language,
  LeasePolicy,
  LeaseState,
  PolicyMode,
  RememberScope,
  TaskErrorCode,
  TaskStatus,
  ToolCallStatus,
} from "../domain/index.ts";

/** Written once, by the insert or its default. */
type Created = ColumnType<Date, Date | undefined, never>;

export interface Tables {
  projects: ProjectsTable;
  api_keys: ApiKeysTable;
  batches: BatchesTable;
  tasks: TasksTable;
  task_labels: TaskLabelsTable;
  outbox: OutboxTable;
  events: EventsTable;
  workers: WorkersTable;
  audit_log: AuditLogTable;
  tool_calls: ToolCallsTable;
  approvals: ApprovalsTable;
  kept_guests: KeptGuestsTable;
  policies: PoliciesTable;
  tools: ToolsTable;
  functions: FunctionsTable;
  kv: KvTable;
  artifacts: ArtifactsTable;
  environments: EnvironmentsTable;
  environment_revisions: EnvironmentRevisionsTable;
  session_environments: SessionEnvironmentsTable;
  worker_providers: WorkerProvidersTable;
  environment_probes: EnvironmentProbesTable;
  leases: LeasesTable;
  search_backlog: SearchBacklogTable;
  contents: ContentsTable;
  session_files: SessionFilesTable;
  locks: LocksTable;
}

interface ProjectsTable {
  id: string;
  name: string;
  weight: Generated<number>;
  bootstrap: Generated<boolean>;
  policies_version: Generated<number>;
  /** Calls that were being held then are judged once more by the sweeper. */
  policies_changed_at: Date | null;
  self_approval: Generated<boolean>;
  retention_days: number | null;
  default_environment: string | null;
  configured: Generated<string[]>;
  created_at: Created;
}

interface ApiKeysTable {
  id: string;
  project_id: string;
  name: string;
  hash: Buffer;
  scopes: string[];
  created_at: Created;
  revoked_at: Date | null;
}

interface BatchesTable {
  id: string;
  project_id: string;
  label: string | null;
  total: number;
  idempotency_key: string | null;
  fingerprint: Buffer | null;
  created_at: Created;
}

export interface TasksTable {
  id: string;
  project_id: string;
  batch_id: string | null;
  retry_of: string | null;
  submitted_by: string | null;
  status: TaskStatus;
  language: Language;
  environment: string;
  provider: string;
  code: string;
  input: string | null;
  session: string | null;
  priority: number;
  timeout_ms: number | null;
  queue_ttl_ms: number | null;
  max_tool_calls: number | null;
  run_at: Date | null;
  queue_expires_at: Date | null;
  idempotency_key: string | null;
  fingerprint: Buffer | null;
  seed: Buffer;
  job: Generated<number>;
  segments: Generated<number>;
  losses: Generated<number>;
  worker_id: string | null;
  cancel_requested_at: Date | null;
  event_seq: Generated<number>;
  recorded_output: Generated<number>;
  output: string | null;
  exit_code: number | null;
  error_code: TaskErrorCode | null;
  error_message: string | null;
  error_stack: string | null;
  isolation: string | null;
  forked_from: string | null;
  calls: Generated<number>;
  completions: Generated<number>;
  wakes: Generated<number>;
  active_ms: Generated<number>;
  wake_at: Date | null;
  waiting_for: string | null;
  environment_id: string | null;
  environment_revision: number | null;
  session_pinned: Generated<boolean>;
  dependencies: string | null;
  lock_hash: Buffer | null;
  commit_hash: string | null;
  raises: Generated<number>;
  recorded_stderr: Generated<number>;
  dropped_output: Generated<number>;
  sandbox_pin: string | null;
  replayable: Generated<boolean>;
  created_at: Created;
  started_at: Date | null;
  finished_at: Date | null;
}

interface LocksTable {
  hash: Buffer;
  content: string;
  created_at: Created;
}

interface TaskLabelsTable {
  task_id: string;
  project_id: string;
  key: string;
  value: string;
}

interface OutboxTable {
  task_id: string;
  project_id: string;
  provider: string;
  job: number;
  priority: number;
  run_at: Date | null;
  enqueued_at: Date | null;
  /** When its task began to wait for a worker. */
  since: Generated<Date>;
}

interface EventsTable {
  task_id: string;
  seq: number;
  at: Created;
  type: string;
  data: string;
}

export const WORKER_STATES = ["RUNNING", "DRAINING", "LOST", "STOPPED"] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

interface WorkersTable {
  id: string;
  host: string;
  version: string;
  state: WorkerState;
  capacity: number;
  running: number;
  providers: string[];
  tools: Generated<string[]>;
  started_at: Created;
  last_seen_at: Date;
}

interface AuditLogTable {
  id: string;
  project_id: string | null;
  at: Created;
  actor: string;
  action: string;
  subject: string | null;
  data: string;
}

export interface ToolCallsTable {
  task_id: string;
  index: number;
  path: string;
  sent: string;
  input: string | null;
  input_hash: Buffer;
  version: string;
  status: ToolCallStatus;
  approval_id: string | null;
  wake_at: Date | null;
  output: string | null;
  error_code: TaskErrorCode | null;
  error_message: string | null;
  completion: number | null;
  started_at: Date | null;
  finished_at: Date | null;
}

export interface ApprovalsTable {
  id: string;
  project_id: string;
  task_id: string;
  call_index: number;
  kind: ApprovalKind;
  status: ApprovalStatus;
  path: string;
  version: string;
  default_mode: PolicyMode;
  input_hash: Buffer;
  requested_at: Created;
  expires_at: Date;
  decided_at: Date | null;
  decided_by: string | null;
  reason: string | null;
  edited_input: string | null;
  answer: string | null;
}

interface KeptGuestsTable {
  task_id: string;
  image: Buffer;
  state: Buffer;
  calls: string;
  settled: number;
  printed: number;
  printed_stderr: Generated<number>;
}

interface PoliciesTable {
  id: string;
  project_id: string;
  pattern: string;
  mode: PolicyMode;
  scope: RememberScope;
  scope_id: string | null;
  input_hash: Buffer | null;
  expires_at: Date | null;
  approval_ms: number | null;
  source: Generated<"API" | "CONFIG">;
  created_by: string;
  created_at: Created;
}

export const TOOL_MODES = ["AUTO", "REQUIRED", "BY_INPUT"] as const;
export type ToolMode = (typeof TOOL_MODES)[number];

interface FunctionsTable {
  project_id: string;
  path: string;
  description: string;
  input_schema: string;
  code: string;
  language: Language;
  environment: string;
  mode: Exclude<ToolMode, "BY_INPUT">;
  timeout_ms: number;
  version: string;
  created_by: string;
  changed_at: ColumnType<Date, Date | undefined, Date>;
}

interface ToolsTable {
  path: string;
  version: string;
  description: string;
  input_schema: string;
  output_schema: string | null;
  mode: ToolMode;
  source: string;
  published_at: Created;
}

interface KvTable {
  project_id: string;
  key: string;
  value: string;
  updated_at: Created;
}

interface ArtifactsTable {
  id: string;
  project_id: string;
  task_id: string;
  session: string | null;
  name: string;
  direction: "INPUT" | "OUTPUT";
  size: number;
  content_type: string;
  sha256: Buffer;
  created_at: Created;
}

interface EnvironmentsTable {
  id: string;
  project_id: string;
  name: string;
  provider: string;
  active: Generated<boolean>;
  revision: number;
  source: "API" | "CONFIG";
  created_at: Created;
  updated_at: Generated<Date>;
}

interface EnvironmentRevisionsTable {
  environment_id: string;
  revision: number;
  definition: string;
  created_at: Created;
  created_by: string;
}

interface SessionEnvironmentsTable {
  project_id: string;
  session: string;
  environment: string;
}

interface WorkerProvidersTable {
  worker_id: string;
  name: string;
  capabilities: string;
  config_schema: string;
  isolation: string | null;
  reason: string | null;
  published_at: Created;
}

interface EnvironmentProbesTable {
  id: string;
  project_id: string;
  provider: string;
  definition: string;
  asked_at: Created;
  worker_id: string | null;
  taken_at: Date | null;
  result: string | null;
}

interface LeasesTable {
  id: string;
  project_id: string;
  task_id: string | null;
  fence: number | null;
  environment: string;
  environment_id: string | null;
  revision: number | null;
  provider: string;
  worker_id: string;
  host: string;
  state: LeaseState;
  policy: LeasePolicy;
  created_at: Created;
  expires_at: Date | null;
  ended_at: Date | null;
  attempts: Generated<number>;
  retry_at: Date | null;
  error: string | null;
}

interface SearchBacklogTable {
  task_id: string;
}

interface ContentsTable {
  project_id: string;
  sha256: Buffer;
  size: number;
  inline: Buffer | null;
  stored: Generated<boolean>;
  check_at: Date | null;
}

interface SessionFilesTable {
  task_id: string;
  path: string;
  project_id: string;
  sha256: Buffer;
  size: number;
}
