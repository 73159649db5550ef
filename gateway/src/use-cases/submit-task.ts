import { findTaskByIdempotencyKey, type Caller, type NewTask, type TaskRow } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { chooseEnvironments } from "./environments/choose.ts";
import { Faults } from "./faults.ts";
import { taskFingerprint } from "./fingerprint.ts";
import { keepFiles } from "./keep-files.ts";
import { freshRow, newTasks } from "./new-task.ts";
import { nameFault } from "./texts.ts";
import { checkName, type Submission, type SubmissionInput, validateSubmission } from "./validate-submission.ts";

export async function submitTask(app: App, caller: Caller, given: SubmissionInput): Promise<TaskRow> {
  const faults = new Faults();
  const environments = await chooseEnvironments(app, caller.projectId, [given]);
  const submission = validateSubmission(given, environments, "", faults);
  const idempotencyKey = given.idempotencyKey ?? null;
  checkName(idempotencyKey, "idempotencyKey", faults);
  if (faults.any) {
    const accepted = await acceptedBefore(app, caller.projectId, idempotencyKey, submission);
    if (accepted !== null) return accepted;
  }
  faults.throwIfAny();
  const fingerprint = idempotencyKey === null ? null : taskFingerprint(submission);
  const files = await keepFiles(app.files, caller.projectId, [submission]);
  const [task] = newTasks(caller, [submission], { idempotencyKey, fingerprint, files }) as [NewTask];
  const createdAt = await app.admission.one(task);
  if (createdAt === null) return theSameTask(app, task);
  app.metrics.submitted("single", 1);
  return freshRow(task, createdAt);
}

/** What was accepted once is not judged again: its environment may be gone since, and its caller has lost the answer. */
async function acceptedBefore(
  app: App,
  projectId: string,
  key: string | null,
  submission: Submission,
): Promise<TaskRow | null> {
  if (key === null || nameFault(key) !== null) return null;
  const task = await findTaskByIdempotencyKey(app.db, projectId, key);
  return task?.fingerprint?.equals(taskFingerprint(submission)) === true ? task : null;
}

/** The task that holds the idempotency key already. The insert waited for a racing twin, so it can be read now. */
export async function theSameTask(app: App, { projectId, idempotencyKey, fingerprint }: NewTask): Promise<TaskRow> {
  const task = await findTaskByIdempotencyKey(app.db, projectId, idempotencyKey as string);
  if (task === null || !task.fingerprint || !fingerprint) throw new Error("an idempotency key is taken and not there");
  if (task.fingerprint.equals(fingerprint)) return task;
  throw keyReused();
}

export function keyReused(): ApiError {
  return new ApiError(
    "CONFLICT",
    "idempotencyKey: was used before in this project with another payload; use a new key, or send the same payload",
  );
}
