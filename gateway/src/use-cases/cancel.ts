import { isId, topics } from "@airlock/shared/contracts";
import {
  type BatchRow,
  type Caller,
  type CancelTarget,
  cancelTasks,
  findBatch,
  findTask,
  retryDeadlocks,
  type TaskRow,
} from "@airlock/shared/db";
import type { App } from "../context.ts";
import { notFound } from "./not-found.ts";

/** An ended task comes back unchanged; a running one is still RUNNING until its worker has stopped it. */
export async function cancelTask(app: App, caller: Caller, id: string): Promise<TaskRow> {
  if (!isId(id)) throw notFound("task");
  await cancel(app, caller, { taskId: id });
  const task = await findTask(app.db, caller.projectId, id);
  if (task === null) throw notFound("task");
  return task;
}

export async function cancelBatch(app: App, caller: Caller, id: string): Promise<BatchRow> {
  const batch = isId(id) ? await findBatch(app.db, caller.projectId, id) : null;
  if (batch === null) throw notFound("batch");
  await cancel(app, caller, { batchId: id });
  return batch;
}

async function cancel(app: App, caller: Caller, target: CancelTarget): Promise<void> {
  const changed = await retryDeadlocks(() => cancelTasks(app.db, caller.projectId, target));
  const running = changed.filter((task) => task.running).map((task) => task.id);
  const ended = changed.filter((task) => !task.running).map((task): [string, number] => [task.id, task.seq]);
  // Hints only: workers and subscribers also ask Postgres.
  const told = await Promise.allSettled([
    app.bus.publish(topics.cancel, running),
    app.bus.publish(topics.events, ended),
  ]);
  for (const result of told) {
    if (result.status === "rejected")
      app.log.warn({ err: result.reason }, "could not tell the bus about a cancellation");
  }
}
