import {
  GetTask,
  ListTasks,
  RetryTask,
  SubmitTask,
  type SubmitTaskInput,
  type Task,
  type TaskFilter,
  type TaskSummary,
} from "../generated.ts";
import { newIdempotencyKey } from "../idempotency-key.ts";
import { PAGE, paged } from "../paged.ts";
import type { Transport } from "../transport.ts";
import { createTaskHandle, type TaskHandle } from "./handle.ts";

export type { TaskHandle } from "./handle.ts";
export { type EndedStatus, hasEnded } from "./status.ts";

export interface Tasks {
  /** Gets an idempotency key where it has none, so that a repeat after a lost answer does not make a second task. */
  submit<Output = unknown>(input: SubmitTaskInput): Promise<TaskHandle<Output>>;
  /** For a task whose id is known. */
  handle<Output = unknown>(id: string): TaskHandle<Output>;
  /** Null: there is no such task. */
  get(id: string): Promise<Task | null>;
  /** The newest first; further pages are fetched as they are needed. */
  list(filter?: TaskFilter, options?: { readonly pageSize?: number }): AsyncIterable<TaskSummary>;
  /** The same program again as a new task: its effects happen again. Not repeated when the answer is lost. */
  retry<Output = unknown>(id: string): Promise<TaskHandle<Output>>;
}

export function createTasks(transport: Transport): Tasks {
  const { once, patiently } = transport;
  return {
    async submit<Output>(input: SubmitTaskInput) {
      const keyed = { ...input, idempotencyKey: input.idempotencyKey ?? newIdempotencyKey() };
      const { submitTask } = await patiently(SubmitTask, { input: keyed });
      return createTaskHandle<Output>(transport, submitTask.id);
    },
    handle: (id) => createTaskHandle(transport, id),
    get: async (id) => (await patiently(GetTask, { id })).task,
    list: (filter, { pageSize = PAGE } = {}) =>
      paged(async (after) => (await patiently(ListTasks, { filter, first: pageSize, after })).tasks),
    async retry<Output>(id: string) {
      const { retryTask } = await once(RetryTask, { id });
      return createTaskHandle<Output>(transport, retryTask.id);
    },
  };
}
