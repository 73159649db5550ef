import { isId } from "@airlock/shared/contracts";
import { type Caller, findTask, labelsOf, listInputFiles, type NewTask, type TaskRow } from "@airlock/shared/db";
import { ApiError, hasEnded } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { chooseEnvironments, type KnownEnvironment } from "./environments/choose.ts";
import { Faults } from "./faults.ts";
import { retryFingerprint } from "./fingerprint.ts";
import { freshRow, newTasks } from "./new-task.ts";
import { notFound } from "./not-found.ts";
import { theSameTask } from "./submit-task.ts";
import { checkName, type Submission } from "./validate-submission.ts";

/** The same submission again, now, on its own: neither the batch nor the idempotency key of the old task. */
export async function retryTask(
  app: App,
  caller: Caller,
  { id, idempotencyKey = null }: { id: string; idempotencyKey?: string | null | undefined },
): Promise<TaskRow> {
  const faults = new Faults();
  checkName(idempotencyKey, "idempotencyKey", faults);
  faults.throwIfAny();
  const old = isId(id) ? await findTask(app.db, caller.projectId, id) : null;
  if (old === null) throw notFound("task");
  if (!hasEnded(old.status)) {
    throw new ApiError(
      "CONFLICT",
      `the task is ${old.status}; only an ended task can be retried: wait for it or cancel it`,
    );
  }
  const [labels, environment, files] = await Promise.all([
    labelsOf(app.db, [old.id]),
    environmentOf(app, caller, old),
    listInputFiles(app.db, old.id),
  ]);
  const submission = submissionOf(old, environment, labels.get(old.id) ?? []);
  const fingerprint = idempotencyKey === null ? null : retryFingerprint(old.id);
  const origin = { retryOf: old.id, files: [files], idempotencyKey, fingerprint };
  const [task] = newTasks(caller, [submission], origin) as [NewTask];
  const createdAt = await app.admission.one(task);
  if (createdAt === null) return theSameTask(app, task);
  app.metrics.submitted("retry", 1);
  return freshRow(task, createdAt);
}

/** As it is now: the new task pins its own revision. */
async function environmentOf(app: App, caller: Caller, old: TaskRow): Promise<KnownEnvironment> {
  const choice = await chooseEnvironments(app, caller.projectId, [old]);
  const environment = choice.find(old.environment);
  if (environment?.active) return environment;
  const what = environment === null ? "is gone" : "is deactivated";
  throw new ApiError("CONFLICT", `the task's environment "${old.environment}" ${what}; submit the task to another one`);
}

function submissionOf(task: TaskRow, environment: KnownEnvironment, labels: [string, string][]): Submission {
  return {
    code: task.code,
    language: task.language,
    environment: environment.name,
    environmentId: environment.id,
    askedEnvironment: environment.name,
    provider: environment.provider,
    input: task.input,
    session: task.session,
    timeoutMs: task.timeout_ms,
    queueTtlMs: task.queue_ttl_ms,
    priority: task.priority,
    runAt: null,
    labels,
    maxToolCalls: task.max_tool_calls,
    replayable: task.replayable,
    files: [],
    dependencies: task.dependencies,
  };
}
