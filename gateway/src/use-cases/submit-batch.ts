import { newId } from "@airlock/shared/contracts";
import { type BatchRow, type Caller, findBatchByIdempotencyKey, type NewBatch } from "@airlock/shared/db";
import { ApiError, SUBMISSION_LIMITS } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { chooseEnvironments, type EnvironmentChoice } from "./environments/choose.ts";
import { Faults } from "./faults.ts";
import { batchFingerprint } from "./fingerprint.ts";
import { keepFiles } from "./keep-files.ts";
import { newTasks } from "./new-task.ts";
import { keyReused } from "./submit-task.ts";
import { checkName, type Submission, type SubmissionInput, validateSubmission } from "./validate-submission.ts";

export interface BatchInput {
  readonly tasks: readonly SubmissionInput[];
  readonly label?: string | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

/** All or nothing. */
export async function submitBatch(app: App, caller: Caller, given: BatchInput): Promise<BatchRow> {
  checkSize(given);
  const environments = await chooseEnvironments(app, caller.projectId, given.tasks);
  const submissions = validateBatch(given, environments);
  const idempotencyKey = given.idempotencyKey ?? null;
  const label = given.label ?? null;
  const batch: NewBatch = {
    id: newId(),
    projectId: caller.projectId,
    label,
    total: submissions.length,
    idempotencyKey,
    fingerprint: idempotencyKey === null ? null : batchFingerprint(label, submissions),
  };
  const files = await keepFiles(app.files, caller.projectId, submissions);
  const createdAt = await app.admission.batch(batch, newTasks(caller, submissions, { batchId: batch.id, files }));
  if (createdAt === null) return theSameBatch(app, batch);
  app.metrics.submitted("batch", batch.total);
  return {
    id: batch.id,
    project_id: batch.projectId,
    label,
    total: batch.total,
    idempotency_key: idempotencyKey,
    fingerprint: batch.fingerprint,
    created_at: createdAt,
  };
}

function checkSize(given: BatchInput): void {
  const { batchTasks } = SUBMISSION_LIMITS;
  if (given.tasks.length === 0) throw new ApiError("BAD_INPUT", "tasks: is empty; give at least one task");
  if (given.tasks.length > batchTasks) {
    throw new ApiError("TOO_LARGE", `tasks: has ${given.tasks.length} items; at most ${batchTasks} go into one batch`);
  }
}

function validateBatch(given: BatchInput, environments: EnvironmentChoice): Submission[] {
  const faults = new Faults();
  checkName(given.label, "label", faults);
  checkName(given.idempotencyKey, "idempotencyKey", faults);
  const submissions = given.tasks.map((task, index) => {
    const at = `tasks[${index}].`;
    if (task.idempotencyKey !== null && task.idempotencyKey !== undefined) {
      faults.add(`${at}idempotencyKey`, "items carry no key of their own; give the batch one");
    }
    return validateSubmission(task, environments, at, faults);
  });
  faults.throwIfAny();
  return submissions;
}

async function theSameBatch(app: App, { projectId, idempotencyKey, fingerprint }: NewBatch): Promise<BatchRow> {
  const batch = await findBatchByIdempotencyKey(app.db, projectId, idempotencyKey as string);
  if (batch === null || !batch.fingerprint || !fingerprint)
    throw new Error("an idempotency key is taken and not there");
  if (batch.fingerprint.equals(fingerprint)) return batch;
  throw keyReused();
}
