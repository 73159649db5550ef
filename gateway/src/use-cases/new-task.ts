import { randomBytes } from "node:crypto";
import { newId } from "@airlock/shared/contracts";
import type { Caller, NewTask, TaskRow } from "@airlock/shared/db";
import type { Submission } from "./validate-submission.ts";

const SEED_BYTES = 32;

export interface TaskOrigin {
  readonly batchId?: string;
  readonly retryOf?: string;
  readonly idempotencyKey?: string | null;
  readonly fingerprint?: Buffer | null;
  /** Of each submission: its files, taken in. */
  readonly files: readonly NewTask["files"][];
}

/** One call of the random source for all of them: 10,000 calls would cost more than the inserts' parsing. */
export function newTasks(caller: Caller, submissions: readonly Submission[], origin: TaskOrigin): NewTask[] {
  const seeds = randomBytes(SEED_BYTES * submissions.length);
  return submissions.map((submission, index) => ({
    id: newId(),
    projectId: caller.projectId,
    batchId: origin.batchId ?? null,
    retryOf: origin.retryOf ?? null,
    submittedBy: caller.keyId,
    language: submission.language,
    environment: submission.environment,
    environmentId: submission.environmentId,
    provider: submission.provider,
    code: submission.code,
    input: submission.input,
    session: submission.session,
    priority: submission.priority,
    timeoutMs: submission.timeoutMs,
    queueTtlMs: submission.queueTtlMs,
    maxToolCalls: submission.maxToolCalls,
    replayable: submission.replayable,
    runAt: submission.runAt,
    idempotencyKey: origin.idempotencyKey ?? null,
    fingerprint: origin.fingerprint ?? null,
    seed: seeds.subarray(index * SEED_BYTES, (index + 1) * SEED_BYTES),
    dependencies: submission.dependencies,
    labels: submission.labels,
    files: origin.files[index] ?? [],
  }));
}

/** The row of a task that was inserted a moment ago, without asking for it. */
export function freshRow(task: NewTask, createdAt: Date): TaskRow {
  return {
    id: task.id,
    project_id: task.projectId,
    batch_id: task.batchId,
    retry_of: task.retryOf,
    submitted_by: task.submittedBy,
    status: "QUEUED",
    language: task.language,
    environment: task.environment,
    provider: task.provider,
    code: task.code,
    input: task.input,
    session: task.session,
    priority: task.priority,
    timeout_ms: task.timeoutMs,
    queue_ttl_ms: task.queueTtlMs,
    max_tool_calls: task.maxToolCalls,
    run_at: task.runAt,
    queue_expires_at: null,
    idempotency_key: task.idempotencyKey,
    fingerprint: task.fingerprint,
    seed: task.seed,
    job: 1,
    segments: 0,
    losses: 0,
    worker_id: null,
    cancel_requested_at: null,
    event_seq: 1,
    recorded_output: 0,
    output: null,
    exit_code: null,
    error_code: null,
    error_message: null,
    error_stack: null,
    isolation: null,
    forked_from: null,
    calls: 0,
    completions: 0,
    wakes: 0,
    active_ms: 0,
    wake_at: null,
    waiting_for: null,
    environment_id: task.environmentId,
    environment_revision: null,
    session_pinned: false,
    dependencies: task.dependencies,
    lock_hash: null,
    commit_hash: null,
    raises: 0,
    recorded_stderr: 0,
    dropped_output: 0,
    sandbox_pin: null,
    replayable: task.replayable,
    created_at: createdAt,
    started_at: null,
    finished_at: null,
  };
}
