import type { TaskJob } from "@airlock/shared/contracts";
import type { Context } from "../context.ts";
import type { ProvedProvider } from "../providers.ts";
import { runSegment } from "../runner/run-segment.ts";

/** What a task queue's jobs do: claim the task, then run one segment of it. A stale job does nothing. */
export function createTaskProcessor(
  context: Context,
  { provider, isolation, image }: ProvedProvider,
  onClaim: () => void,
): (job: TaskJob) => Promise<void> {
  const means = { isolation: JSON.stringify(isolation), image };
  return async (job) => {
    const task = await context.store.claim({ ...job, ...means });
    onClaim();
    if (task) await runSegment(context, provider, task);
  };
}
