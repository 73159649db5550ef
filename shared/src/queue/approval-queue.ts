import { type ApprovalJob, approvalJob } from "../contracts/index.ts";
import { type Backend, createBullFactory } from "./backend.ts";
import { createLastingQueue } from "./lasting-queue.ts";
import type { TaskConsumer } from "./task-queues.ts";

/** One delayed job for each pending approval. A job that is lost is made up for by the sweeper. */
export interface ApprovalQueue {
  add(approvals: readonly { id: string; delayMs: number }[]): Promise<void>;
  /** They are settled: their jobs have nothing left to do. */
  remove(ids: readonly string[]): Promise<void>;
  /** Calls `expire` when an approval's time is up. */
  consume(expire: (approvalId: string) => Promise<void>, onError: (error: Error) => void): TaskConsumer;
  close(): Promise<void>;
}

const LOCK_MS = 15_000;

export function createApprovalQueue(backend: Backend, onError: (error: Error) => void): ApprovalQueue {
  const bull = createBullFactory(backend);
  const queue = createLastingQueue(() => bull.queue<ApprovalJob>(approvalJob.queueName), onError);
  return {
    async add(approvals) {
      await queue.current().addBulk(
        approvals.map(({ id, delayMs }) => ({
          name: "expire" as never,
          data: { approvalId: id } as never,
          opts: { jobId: approvalJob.jobId(id), delay: delayMs },
        })),
      );
    },
    async remove(ids) {
      await Promise.all(ids.map((id) => queue.current().remove(approvalJob.jobId(id))));
    },
    consume(expire, onConsumeError) {
      const worker = bull.worker<ApprovalJob>(
        approvalJob.queueName,
        (job) => expire(approvalJob.payload.parse(job.data).approvalId),
        {
          concurrency: 8,
          lockDuration: LOCK_MS,
          maxStalledCount: 10,
          removeOnComplete: { count: 0 },
          removeOnFail: { count: 0 },
        },
      );
      worker.on("error", onConsumeError);
      return { close: () => worker.close() };
    },
    close: () => queue.close(),
  };
}
