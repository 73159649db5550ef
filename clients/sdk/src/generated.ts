// Made by clients/sdk/generate/main.ts; do not edit.
import type { Operation } from "./operation.ts";

export interface ApprovalFilter {
  readonly batch?: string | null | undefined;
  readonly inputHash?: string | null | undefined;
  readonly toolPath?: string | null | undefined;
}

export type ApprovalKind = "BUDGET" | "EGRESS" | "QUESTION" | "TOOL_CALL" | "UNKNOWN_OUTCOME";

export type ApprovalStatus = "APPROVED" | "CANCELLED" | "DENIED" | "EXPIRED" | "PENDING";

export type ArtifactDirection = "INPUT" | "OUTPUT";

export interface CreateEnvironmentInput {
  /** Checked against the provider's `configSchema`. */
  readonly config?: unknown;
  /** npm package name -> range. */
  readonly dependencies?: unknown;
  /** Absent: all that the provider runs. */
  readonly languages?: readonly Language[] | null | undefined;
  /** EPHEMERAL where absent. */
  readonly leasePolicy?: LeasePolicy | null | undefined;
  readonly limits?: SandboxLimitsInput | null | undefined;
  /** Lower case; the query `providers` lists what it can stand on. */
  readonly name: string;
  /** NONE where absent. */
  readonly network?: NetworkPolicy | null | undefined;
  /** Never changes. */
  readonly provider: string;
  /** A shell command that prepares the work area. */
  readonly provision?: string | null | undefined;
  /** Cloned into the work area. */
  readonly repository?: RepositoryInput | null | undefined;
  /** How long RETAIN_ON_FAILURE keeps a sandbox, and REUSE_BY_SESSION one that nobody uses (an hour). */
  readonly retainMs?: number | null | undefined;
}

export interface DecideApprovalInput {
  readonly decision: Decision;
  /** Runs the call with this input in place of the asked one. Checked against the tool's schema. */
  readonly editedInput?: unknown;
  readonly id: string;
  /** The hash of the input that the approver saw. A mismatch is refused as CONFLICT. */
  readonly inputHash: string;
  readonly reason?: string | null | undefined;
  /** Adds a policy so that the same tool with the same input is not asked about again in this scope (PROJECT needs the scope admin). */
  readonly remember?: RememberScope | null | undefined;
  /** With `remember`: whatever the input. */
  readonly rememberAnyInput?: boolean | null | undefined;
}

export type Decision = "APPROVE" | "DENY";

export type EnvironmentSource = "API" | "BUILT_IN" | "CONFIG";

export interface FileInput {
  readonly base64?: string | null | undefined;
  readonly content?: string | null | undefined;
  /** Relative to the work area, like `data/in.csv`. */
  readonly path: string;
}

export interface FunctionInput {
  /** `input` is in scope; what it returns is the call's result. */
  readonly code: string;
  readonly description: string;
  /** The project's default where absent. */
  readonly environment?: string | null | undefined;
  /** A JSON Schema with `"type": "object"`. */
  readonly inputSchema: unknown;
  /** TYPESCRIPT where absent. */
  readonly language?: Language | null | undefined;
  /** AUTO (where absent) or REQUIRED. */
  readonly mode?: PolicyMode | null | undefined;
  /** Names with dots between them, which no tool of the workers has. */
  readonly path: string;
  /** 30,000 where absent. */
  readonly timeoutMs?: number | null | undefined;
}

export type Language = "BASH" | "BUN" | "JAVASCRIPT" | "PYTHON" | "TYPESCRIPT";

export type LeasePolicy = "EPHEMERAL" | "RETAIN_ON_FAILURE" | "REUSE_BY_SESSION";

export type LeaseState = "ACTIVE" | "EXPIRED" | "FAILED" | "PENDING_CLEANUP" | "RELEASED" | "RETAINED";

export type NetworkPolicy = "NONE";

export type PolicyMode = "AUTO" | "DENY" | "REQUIRED";

export type RememberScope = "PROJECT" | "SESSION" | "TASK";

export interface RepositoryInput {
  /** The name of a worker's secret; never the secret itself. */
  readonly credential?: string | null | undefined;
  /** A branch, a tag or a commit (HEAD). */
  readonly ref?: string | null | undefined;
  readonly url: string;
}

export interface SandboxLimitsInput {
  /** 0.5 is half of one. */
  readonly cpus?: number | null | undefined;
  /** Of the work area. */
  readonly diskBytes?: number | null | undefined;
  /** In the work area. */
  readonly files?: number | null | undefined;
  readonly memoryBytes?: number | null | undefined;
  /** Processes and threads. */
  readonly pids?: number | null | undefined;
}

export interface SubmitBatchInput {
  readonly idempotencyKey?: string | null | undefined;
  readonly label?: string | null | undefined;
  readonly tasks: readonly SubmitTaskInput[];
}

export interface SubmitTaskInput {
  readonly code: string;
  /** npm package name -> range, for JavaScript, TypeScript and Bun outside the isolate; above the environment's own. */
  readonly dependencies?: unknown;
  /** Name of an environment. Absent: the session's, else the project's default, else `isolate`. */
  readonly environment?: string | null | undefined;
  /** In the work area when the program starts; in the isolate they are read with `artifacts.get`. */
  readonly files?: readonly FileInput[] | null | undefined;
  /** The same key and payload in the same project always answer with the same task; another payload is a CONFLICT. */
  readonly idempotencyKey?: string | null | undefined;
  /** Visible to the code as the constant `input`. */
  readonly input?: unknown;
  /** A flat object of scalars. */
  readonly labels?: unknown;
  readonly language?: Language | null | undefined;
  /** Beyond it the task parks and asks (BUDGET). */
  readonly maxToolCalls?: number | null | undefined;
  /** 0 (default) to 999; higher is sooner. */
  readonly priority?: number | null | undefined;
  /** Not started by then: TIMED_OUT. */
  readonly queueTtlMs?: number | null | undefined;
  /** false: the program is run at most once, outside the isolate. It never parks (what would need a person is TOOL_DENIED), ends as WORKER_LOST when its worker is lost, and can use its session's sandbox again (REUSE_BY_SESSION). */
  readonly replayable?: boolean | null | undefined;
  /** In the future: QUEUED until then. */
  readonly runAt?: string | null | undefined;
  readonly session?: string | null | undefined;
  /** Active time only: time spent parked does not count. */
  readonly timeoutMs?: number | null | undefined;
}

export interface TaskFilter {
  readonly batch?: string | null | undefined;
  readonly createdAfter?: string | null | undefined;
  readonly createdBefore?: string | null | undefined;
  readonly environment?: string | null | undefined;
  readonly label?: unknown;
  readonly search?: string | null | undefined;
  readonly session?: string | null | undefined;
  readonly status?: readonly TaskStatus[] | null | undefined;
}

export type TaskStatus = "CANCELLED" | "FAILED" | "PARKED" | "QUEUED" | "RUNNING" | "SUCCEEDED" | "TIMED_OUT";

export type ToolCallStatus = "CANCELLED" | "DENIED" | "EXPIRED" | "FAILED" | "STARTED" | "SUCCEEDED" | "UNKNOWN" | "WAITING";

export interface UpdateEnvironmentInput {
  /** True takes tasks again. */
  readonly active?: boolean | null | undefined;
  readonly config?: unknown;
  readonly dependencies?: unknown;
  readonly languages?: readonly Language[] | null | undefined;
  readonly leasePolicy?: LeasePolicy | null | undefined;
  readonly limits?: SandboxLimitsInput | null | undefined;
  readonly network?: NetworkPolicy | null | undefined;
  readonly provision?: string | null | undefined;
  readonly repository?: RepositoryInput | null | undefined;
  readonly retainMs?: number | null | undefined;
}

export type WorkerState = "DRAINING" | "LOST" | "RUNNING" | "STOPPED";

export type ApprovalSummary = { readonly id: string; readonly kind: ApprovalKind; readonly status: ApprovalStatus; readonly inputHash: string; readonly requestedAt: string; readonly expiresAt: string; readonly decidedAt: string | null; readonly decidedBy: string | null; readonly reason: string | null; readonly editedInput: unknown; readonly answer: unknown };

export type Approval = ApprovalSummary & { readonly task: { readonly id: string; readonly environment: string; readonly labels: unknown }; readonly toolCall: { readonly index: number; readonly path: string; readonly input: unknown } | null };

export type Batch = { readonly id: string; readonly label: string | null; readonly total: number; readonly done: boolean; readonly counts: { readonly queued: number; readonly running: number; readonly parked: number; readonly succeeded: number; readonly failed: number; readonly cancelled: number; readonly timedOut: number } };

export type Environment = { readonly name: string; readonly source: EnvironmentSource; readonly active: boolean; readonly isDefault: boolean; readonly revision: number | null; readonly updatedAt: string | null; readonly provider: string; readonly config: unknown; readonly limits: { readonly memoryBytes: number | null; readonly pids: number | null; readonly cpus: number | null; readonly diskBytes: number | null; readonly files: number | null }; readonly provision: string | null; readonly repository: { readonly url: string; readonly ref: string; readonly credential: string | null } | null; readonly dependencies: unknown; readonly leasePolicy: LeasePolicy; readonly retainMs: number; readonly languages: readonly (Language)[]; readonly network: NetworkPolicy };

export type EnvironmentProbe = { readonly available: boolean; readonly reason: string | null; readonly workerId: string | null; readonly isolation: { readonly provider: string; readonly level: string; readonly enforced: unknown } | null };

export type Provider = { readonly name: string; readonly available: boolean; readonly reason: string | null; readonly workers: readonly (string)[]; readonly isolation: { readonly provider: string; readonly level: string; readonly enforced: unknown } | null; readonly languages: readonly (Language)[]; readonly keptBy: string; readonly workArea: boolean; readonly retains: boolean; readonly reuses: boolean; readonly configSchema: unknown };

export type Lease = { readonly id: string; readonly taskId: string | null; readonly segment: number | null; readonly environment: string; readonly environmentRevision: number | null; readonly provider: string; readonly workerId: string; readonly host: string; readonly state: LeaseState; readonly policy: LeasePolicy; readonly createdAt: string; readonly expiresAt: string | null; readonly endedAt: string | null; readonly error: string | null };

export type TaskError = { readonly code: string; readonly message: string; readonly stack: string | null; readonly retryable: boolean };

export type TaskSummary = { readonly id: string; readonly status: TaskStatus; readonly language: Language; readonly environment: string; readonly session: string | null; readonly labels: unknown; readonly segments: number; readonly createdAt: string; readonly startedAt: string | null; readonly finishedAt: string | null; readonly output: unknown; readonly exitCode: number | null; readonly error: TaskError | null };

export type ToolCall = { readonly index: number; readonly path: string; readonly input: unknown; readonly inputHash: string; readonly status: ToolCallStatus; readonly output: unknown; readonly error: TaskError | null; readonly startedAt: string | null; readonly finishedAt: string | null };

export type Artifact = { readonly id: string; readonly name: string; readonly direction: ArtifactDirection; readonly size: number; readonly contentType: string; readonly sha256: string; readonly url: string };

export type IsolationReport = { readonly provider: string; readonly level: string; readonly enforced: unknown };

export type Task = TaskSummary & { readonly code: string; readonly input: unknown; readonly replayable: boolean; readonly batch: { readonly id: string } | null; readonly retryOf: { readonly id: string } | null; readonly forkOf: { readonly id: string } | null; readonly toolCalls: readonly (ToolCall)[]; readonly approvals: readonly (ApprovalSummary)[]; readonly artifacts: readonly (Artifact)[]; readonly isolation: IsolationReport | null };

export type TaskEvent = { readonly taskId: string; readonly seq: number; readonly at: string; readonly type: string; readonly data: unknown };

export type Tool = { readonly path: string; readonly description: string; readonly mode: PolicyMode; readonly source: string; readonly inputSchema: unknown; readonly outputSchema: unknown };

export type Worker = { readonly id: string; readonly host: string; readonly version: string; readonly state: WorkerState; readonly capacity: number; readonly running: number; readonly providers: readonly (string)[]; readonly lastSeenAt: string };

export const ListApprovals: Operation<{ readonly approvals: { readonly edges: readonly ({ readonly node: Approval })[]; readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null } } }, { readonly status?: ApprovalStatus | null | undefined; readonly first?: number | null | undefined; readonly after?: string | null | undefined }> = {
  text: `
query ListApprovals($status: ApprovalStatus, $first: Int, $after: String) {
  approvals(status: $status, first: $first, after: $after) {
    edges {
      node {
        ...Approval
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}

fragment Approval on Approval {
  ...ApprovalSummary
  task {
    id
    environment
    labels
  }
  toolCall {
    index
    path
    input
  }
}

fragment ApprovalSummary on Approval {
  id
  kind
  status
  inputHash
  requestedAt
  expiresAt
  decidedAt
  decidedBy
  reason
  editedInput
  answer
}
`,
};

export const ListTaskApprovals: Operation<{ readonly task: { readonly approvals: readonly (Approval)[] } | null }, { readonly id: string }> = {
  text: `
query ListTaskApprovals($id: ID!) {
  task(id: $id) {
    approvals {
      ...Approval
    }
  }
}

fragment Approval on Approval {
  ...ApprovalSummary
  task {
    id
    environment
    labels
  }
  toolCall {
    index
    path
    input
  }
}

fragment ApprovalSummary on Approval {
  id
  kind
  status
  inputHash
  requestedAt
  expiresAt
  decidedAt
  decidedBy
  reason
  editedInput
  answer
}
`,
};

export const DecideApproval: Operation<{ readonly decideApproval: Approval }, { readonly input: DecideApprovalInput }> = {
  text: `
mutation DecideApproval($input: DecideApprovalInput!) {
  decideApproval(input: $input) {
    ...Approval
  }
}

fragment Approval on Approval {
  ...ApprovalSummary
  task {
    id
    environment
    labels
  }
  toolCall {
    index
    path
    input
  }
}

fragment ApprovalSummary on Approval {
  id
  kind
  status
  inputHash
  requestedAt
  expiresAt
  decidedAt
  decidedBy
  reason
  editedInput
  answer
}
`,
};

export const AnswerQuestion: Operation<{ readonly answerQuestion: Approval }, { readonly id: string; readonly answer: unknown }> = {
  text: `
mutation AnswerQuestion($id: ID!, $answer: JSON!) {
  answerQuestion(approvalId: $id, answer: $answer) {
    ...Approval
  }
}

fragment Approval on Approval {
  ...ApprovalSummary
  task {
    id
    environment
    labels
  }
  toolCall {
    index
    path
    input
  }
}

fragment ApprovalSummary on Approval {
  id
  kind
  status
  inputHash
  requestedAt
  expiresAt
  decidedAt
  decidedBy
  reason
  editedInput
  answer
}
`,
};

export const FollowApprovals: Operation<{ readonly approvalUpdates: Approval }, Record<string, never>> = {
  text: `
subscription FollowApprovals {
  approvalUpdates {
    ...Approval
  }
}

fragment Approval on Approval {
  ...ApprovalSummary
  task {
    id
    environment
    labels
  }
  toolCall {
    index
    path
    input
  }
}

fragment ApprovalSummary on Approval {
  id
  kind
  status
  inputHash
  requestedAt
  expiresAt
  decidedAt
  decidedBy
  reason
  editedInput
  answer
}
`,
};

export const ListTaskArtifacts: Operation<{ readonly task: { readonly artifacts: readonly (Artifact)[] } | null }, { readonly id: string }> = {
  text: `
query ListTaskArtifacts($id: ID!) {
  task(id: $id) {
    artifacts {
      ...Artifact
    }
  }
}

fragment Artifact on Artifact {
  id
  name
  direction
  size
  contentType
  sha256
  url
}
`,
};

export const ListSessionArtifacts: Operation<{ readonly sessionArtifacts: readonly (Artifact)[] }, { readonly session: string; readonly first?: number | null | undefined }> = {
  text: `
query ListSessionArtifacts($session: String!, $first: Int) {
  sessionArtifacts(session: $session, first: $first) {
    ...Artifact
  }
}

fragment Artifact on Artifact {
  id
  name
  direction
  size
  contentType
  sha256
  url
}
`,
};

export const GetBatch: Operation<{ readonly batch: Batch | null }, { readonly id: string }> = {
  text: `
query GetBatch($id: ID!) {
  batch(id: $id) {
    ...Batch
  }
}

fragment Batch on Batch {
  id
  label
  total
  done
  counts {
    queued
    running
    parked
    succeeded
    failed
    cancelled
    timedOut
  }
}
`,
};

export const ListBatchTasks: Operation<{ readonly batch: { readonly tasks: { readonly edges: readonly ({ readonly node: TaskSummary })[]; readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null } } } | null }, { readonly id: string; readonly first?: number | null | undefined; readonly after?: string | null | undefined }> = {
  text: `
query ListBatchTasks($id: ID!, $first: Int, $after: String) {
  batch(id: $id) {
    tasks(first: $first, after: $after) {
      edges {
        node {
          ...TaskSummary
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}

fragment TaskSummary on Task {
  id
  status
  language
  environment
  session
  labels
  segments
  createdAt
  startedAt
  finishedAt
  output
  exitCode
  error {
    ...TaskError
  }
}

fragment TaskError on TaskError {
  code
  message
  stack
  retryable
}
`,
};

export const SubmitBatch: Operation<{ readonly submitBatch: { readonly id: string } }, { readonly input: SubmitBatchInput }> = {
  text: `
mutation SubmitBatch($input: SubmitBatchInput!) {
  submitBatch(input: $input) {
    id
  }
}
`,
};

export const CancelBatch: Operation<{ readonly cancelBatch: { readonly id: string } }, { readonly id: string }> = {
  text: `
mutation CancelBatch($id: ID!) {
  cancelBatch(id: $id) {
    id
  }
}
`,
};

export const FollowBatch: Operation<{ readonly batchProgress: Batch }, { readonly id: string }> = {
  text: `
subscription FollowBatch($id: ID!) {
  batchProgress(batchId: $id) {
    ...Batch
  }
}

fragment Batch on Batch {
  id
  label
  total
  done
  counts {
    queued
    running
    parked
    succeeded
    failed
    cancelled
    timedOut
  }
}
`,
};

export const ListEnvironments: Operation<{ readonly environments: readonly (Environment)[] }, Record<string, never>> = {
  text: `
query ListEnvironments {
  environments {
    ...Environment
  }
}

fragment Environment on Environment {
  name
  source
  active
  isDefault
  revision
  updatedAt
  provider
  config
  limits {
    memoryBytes
    pids
    cpus
    diskBytes
    files
  }
  provision
  repository {
    url
    ref
    credential
  }
  dependencies
  leasePolicy
  retainMs
  languages
  network
}
`,
};

export const GetEnvironment: Operation<{ readonly environment: Environment | null }, { readonly name: string }> = {
  text: `
query GetEnvironment($name: String!) {
  environment(name: $name) {
    ...Environment
  }
}

fragment Environment on Environment {
  name
  source
  active
  isDefault
  revision
  updatedAt
  provider
  config
  limits {
    memoryBytes
    pids
    cpus
    diskBytes
    files
  }
  provision
  repository {
    url
    ref
    credential
  }
  dependencies
  leasePolicy
  retainMs
  languages
  network
}
`,
};

export const CreateEnvironment: Operation<{ readonly createEnvironment: Environment }, { readonly input: CreateEnvironmentInput }> = {
  text: `
mutation CreateEnvironment($input: CreateEnvironmentInput!) {
  createEnvironment(input: $input) {
    ...Environment
  }
}

fragment Environment on Environment {
  name
  source
  active
  isDefault
  revision
  updatedAt
  provider
  config
  limits {
    memoryBytes
    pids
    cpus
    diskBytes
    files
  }
  provision
  repository {
    url
    ref
    credential
  }
  dependencies
  leasePolicy
  retainMs
  languages
  network
}
`,
};

export const UpdateEnvironment: Operation<{ readonly updateEnvironment: Environment }, { readonly name: string; readonly input: UpdateEnvironmentInput }> = {
  text: `
mutation UpdateEnvironment($name: String!, $input: UpdateEnvironmentInput!) {
  updateEnvironment(name: $name, input: $input) {
    ...Environment
  }
}

fragment Environment on Environment {
  name
  source
  active
  isDefault
  revision
  updatedAt
  provider
  config
  limits {
    memoryBytes
    pids
    cpus
    diskBytes
    files
  }
  provision
  repository {
    url
    ref
    credential
  }
  dependencies
  leasePolicy
  retainMs
  languages
  network
}
`,
};

export const DeactivateEnvironment: Operation<{ readonly deactivateEnvironment: Environment }, { readonly name: string }> = {
  text: `
mutation DeactivateEnvironment($name: String!) {
  deactivateEnvironment(name: $name) {
    ...Environment
  }
}

fragment Environment on Environment {
  name
  source
  active
  isDefault
  revision
  updatedAt
  provider
  config
  limits {
    memoryBytes
    pids
    cpus
    diskBytes
    files
  }
  provision
  repository {
    url
    ref
    credential
  }
  dependencies
  leasePolicy
  retainMs
  languages
  network
}
`,
};

export const ProbeEnvironment: Operation<{ readonly probeEnvironment: EnvironmentProbe }, { readonly name: string }> = {
  text: `
mutation ProbeEnvironment($name: String!) {
  probeEnvironment(name: $name) {
    ...EnvironmentProbe
  }
}

fragment EnvironmentProbe on EnvironmentProbe {
  available
  reason
  workerId
  isolation {
    provider
    level
    enforced
  }
}
`,
};

export const SetDefaultEnvironment: Operation<{ readonly setDefaultEnvironment: { readonly defaultEnvironment: string } }, { readonly name?: string | null | undefined }> = {
  text: `
mutation SetDefaultEnvironment($name: String) {
  setDefaultEnvironment(name: $name) {
    defaultEnvironment
  }
}
`,
};

export const SetSessionEnvironment: Operation<{ readonly setSessionEnvironment: { readonly name: string } }, { readonly session: string; readonly name?: string | null | undefined }> = {
  text: `
mutation SetSessionEnvironment($session: String!, $name: String) {
  setSessionEnvironment(session: $session, name: $name) {
    name
  }
}
`,
};

export const ListProviders: Operation<{ readonly providers: readonly (Provider)[] }, Record<string, never>> = {
  text: `
query ListProviders {
  providers {
    ...Provider
  }
}

fragment Provider on Provider {
  name
  available
  reason
  workers
  isolation {
    provider
    level
    enforced
  }
  languages
  keptBy
  workArea
  retains
  reuses
  configSchema
}
`,
};

export const ListLeases: Operation<{ readonly leases: readonly (Lease)[] }, { readonly state?: readonly LeaseState[] | null | undefined; readonly first?: number | null | undefined }> = {
  text: `
query ListLeases($state: [LeaseState!], $first: Int) {
  leases(state: $state, first: $first) {
    ...Lease
  }
}

fragment Lease on Lease {
  id
  taskId
  segment
  environment
  environmentRevision
  provider
  workerId
  host
  state
  policy
  createdAt
  expiresAt
  endedAt
  error
}
`,
};

export const ReleaseLease: Operation<{ readonly releaseLease: Lease }, { readonly id: string }> = {
  text: `
mutation ReleaseLease($id: ID!) {
  releaseLease(id: $id) {
    ...Lease
  }
}

fragment Lease on Lease {
  id
  taskId
  segment
  environment
  environmentRevision
  provider
  workerId
  host
  state
  policy
  createdAt
  expiresAt
  endedAt
  error
}
`,
};

export const GetTask: Operation<{ readonly task: Task | null }, { readonly id: string }> = {
  text: `
query GetTask($id: ID!) {
  task(id: $id) {
    ...Task
  }
}

fragment Task on Task {
  ...TaskSummary
  code
  input
  replayable
  batch {
    id
  }
  retryOf {
    id
  }
  forkOf {
    id
  }
  toolCalls {
    ...ToolCall
  }
  approvals {
    ...ApprovalSummary
  }
  artifacts {
    ...Artifact
  }
  isolation {
    ...IsolationReport
  }
}

fragment TaskSummary on Task {
  id
  status
  language
  environment
  session
  labels
  segments
  createdAt
  startedAt
  finishedAt
  output
  exitCode
  error {
    ...TaskError
  }
}

fragment TaskError on TaskError {
  code
  message
  stack
  retryable
}

fragment ToolCall on ToolCall {
  index
  path
  input
  inputHash
  status
  output
  error {
    ...TaskError
  }
  startedAt
  finishedAt
}

fragment ApprovalSummary on Approval {
  id
  kind
  status
  inputHash
  requestedAt
  expiresAt
  decidedAt
  decidedBy
  reason
  editedInput
  answer
}

fragment Artifact on Artifact {
  id
  name
  direction
  size
  contentType
  sha256
  url
}

fragment IsolationReport on IsolationReport {
  provider
  level
  enforced
}
`,
};

export const ListTasks: Operation<{ readonly tasks: { readonly edges: readonly ({ readonly node: TaskSummary })[]; readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null } } }, { readonly filter?: TaskFilter | null | undefined; readonly first?: number | null | undefined; readonly after?: string | null | undefined }> = {
  text: `
query ListTasks($filter: TaskFilter, $first: Int, $after: String) {
  tasks(filter: $filter, first: $first, after: $after) {
    edges {
      node {
        ...TaskSummary
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}

fragment TaskSummary on Task {
  id
  status
  language
  environment
  session
  labels
  segments
  createdAt
  startedAt
  finishedAt
  output
  exitCode
  error {
    ...TaskError
  }
}

fragment TaskError on TaskError {
  code
  message
  stack
  retryable
}
`,
};

export const PageTaskEvents: Operation<{ readonly task: { readonly status: TaskStatus; readonly events: readonly (TaskEvent)[] } | null }, { readonly id: string; readonly after: number; readonly first: number }> = {
  text: `
query PageTaskEvents($id: ID!, $after: Int!, $first: Int!) {
  task(id: $id) {
    status
    events(after: $after, first: $first) {
      ...TaskEvent
    }
  }
}

fragment TaskEvent on TaskEvent {
  taskId
  seq
  at
  type
  data
}
`,
};

export const SubmitTask: Operation<{ readonly submitTask: { readonly id: string } }, { readonly input: SubmitTaskInput }> = {
  text: `
mutation SubmitTask($input: SubmitTaskInput!) {
  submitTask(input: $input) {
    id
  }
}
`,
};

export const CancelTask: Operation<{ readonly cancelTask: { readonly id: string; readonly status: TaskStatus } }, { readonly id: string }> = {
  text: `
mutation CancelTask($id: ID!) {
  cancelTask(id: $id) {
    id
    status
  }
}
`,
};

export const RetryTask: Operation<{ readonly retryTask: { readonly id: string } }, { readonly id: string }> = {
  text: `
mutation RetryTask($id: ID!) {
  retryTask(id: $id) {
    id
  }
}
`,
};

export const FollowTaskEvents: Operation<{ readonly taskEvents: TaskEvent }, { readonly id: string; readonly after: number }> = {
  text: `
subscription FollowTaskEvents($id: ID!, $after: Int!) {
  taskEvents(taskId: $id, after: $after) {
    ...TaskEvent
  }
}

fragment TaskEvent on TaskEvent {
  taskId
  seq
  at
  type
  data
}
`,
};

export const ListTools: Operation<{ readonly tools: readonly (Tool)[] }, { readonly search?: string | null | undefined }> = {
  text: `
query ListTools($search: String) {
  tools(search: $search) {
    ...Tool
  }
}

fragment Tool on Tool {
  path
  description
  mode
  source
  inputSchema
  outputSchema
}
`,
};

export const GetToolTypes: Operation<{ readonly toolTypes: string }, { readonly search?: string | null | undefined }> = {
  text: `
query GetToolTypes($search: String) {
  toolTypes(search: $search)
}
`,
};

export const CallTool: Operation<{ readonly callTool: { readonly id: string } }, { readonly path: string; readonly input: unknown }> = {
  text: `
mutation CallTool($path: String!, $input: JSON!) {
  callTool(path: $path, input: $input) {
    id
  }
}
`,
};

export const ListWorkers: Operation<{ readonly workers: readonly (Worker)[] }, Record<string, never>> = {
  text: `
query ListWorkers {
  workers {
    ...Worker
  }
}

fragment Worker on Worker {
  id
  host
  version
  state
  capacity
  running
  providers
  lastSeenAt
}
`,
};
