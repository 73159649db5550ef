import type { TaskRow } from "@airlock/shared/db";
import { TASK_ERRORS, type TaskFailure } from "@airlock/shared/domain";
import { builder } from "../builder.ts";

export const TaskErrorType = builder.objectRef<TaskFailure>("TaskError").implement({
  fields: (t) => ({
    code: t.exposeString("code"),
    message: t.exposeString("message"),
    stack: t.exposeString("stack", { nullable: true }),
    retryable: t.boolean({ resolve: (error) => TASK_ERRORS[error.code].retryable }),
  }),
});

export function taskErrorOf(task: TaskRow): TaskFailure | null {
  if (task.error_code === null) return null;
  return { code: task.error_code, message: task.error_message ?? "", stack: task.error_stack ?? undefined };
}
