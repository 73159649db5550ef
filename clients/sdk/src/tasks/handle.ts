import { ApiError, TaskFailedError } from "../errors.ts";
import { CancelTask, GetTask, PageTaskEvents, type Task, type TaskEvent, type TaskStatus } from "../generated.ts";
import type { RequestOptions } from "../http/request.ts";
import type { Transport } from "../transport.ts";
import { type EventOptions, followTaskEvents } from "./events.ts";
import { hasEnded } from "./status.ts";

/** The largest page that the gateway gives. */
const EVENT_PAGE = 1000;

/** One task, by its id; nothing is asked of the gateway until a method is called. */
export interface TaskHandle<Output = unknown> {
  readonly id: string;
  /** As it is now. */
  get(): Promise<Task>;
  /** A page of what has happened after the cursor until now; empty when there is no more. */
  history(after?: number): Promise<readonly TaskEvent[]>;
  /** History after the cursor, then live; reconnects and resumes by itself. */
  events(options?: EventOptions): AsyncIterable<TaskEvent>;
  /** Waits for the end, whichever it is. */
  ended(options?: RequestOptions): Promise<Task>;
  /** Waits for the end: what the code returned. Throws `TaskFailedError` where the task did not succeed. */
  result(options?: RequestOptions): Promise<Output>;
  /** A running task is still RUNNING until its worker has stopped it. */
  cancel(): Promise<TaskStatus>;
}

export function createTaskHandle<Output>(transport: Transport, id: string): TaskHandle<Output> {
  async function get(options?: RequestOptions): Promise<Task> {
    const { task } = await transport.patiently(GetTask, { id }, options);
    return found(task);
  }

  async function ended(options: RequestOptions = {}): Promise<Task> {
    const task = await get(options);
    if (hasEnded(task.status)) return task;
    for await (const _ of followTaskEvents(transport, id, options));
    return get(options);
  }

  return {
    id,
    get: () => get(),
    async history(after = 0) {
      const { task } = await transport.patiently(PageTaskEvents, { id, after, first: EVENT_PAGE });
      return found(task).events;
    },
    events: (options = {}) => followTaskEvents(transport, id, options),
    ended,
    async result(options) {
      const task = await ended(options);
      if (task.status === "SUCCEEDED") return task.output as Output;
      const { status } = task;
      throw new TaskFailedError(id, task.error ?? { code: status, message: `the task ${status}`, retryable: false });
    },
    cancel: async () => (await transport.patiently(CancelTask, { id })).cancelTask.status,
  };
}

function found<T>(task: T | null): T {
  if (task === null) throw new ApiError("NOT_FOUND", "there is no such task", false);
  return task;
}
