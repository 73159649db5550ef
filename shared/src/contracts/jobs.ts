import { z } from "zod";

const payload = z.object({ taskId: z.uuid(), job: z.int().min(1) });

/** `job` is the task's job number n: a job whose n is not the task's current one is stale and is dropped. */
export type TaskJob = z.infer<typeof payload>;

/** One BullMQ job is one segment of a task. It carries ids only: the task itself is read from Postgres at the claim. */
export const taskJob = {
  /** There is a queue per provider; a worker consumes those whose isolation it has proved. */
  queueName: (provider: string): string => `tasks-${provider}`,
  /** No `:` in it: BullMQ refuses such ids. */
  jobId: (job: TaskJob): string => `task_${job.taskId}_${job.job}`,
  payload,
};

/**
 * The contract's priority is 0 to 999, higher is sooner. BullMQ serves lower numbers first and unprioritised jobs (0)
 * before all others, so every job gets a number from 1 to 1000.
 */
export function bullPriority(priority: number): number {
  return 1000 - priority;
}

const approvalPayload = z.object({ approvalId: z.uuid() });
export type ApprovalJob = z.infer<typeof approvalPayload>;

/** One job for each pending approval, delayed to its expiry. */
export const approvalJob = {
  queueName: "approvals",
  jobId: (approvalId: string): string => `approval_${approvalId}`,
  payload: approvalPayload,
};
