import type { EndedStatus } from "../domain/index.ts";

/** The events of a task, and what each carries in `data`. */
export interface TaskEventData {
  "task.queued": Record<string, never>;
  "task.parked": { waitingFor: string };
  "tool.called": { index: number; path: string };
  "tool.completed": { index: number };
  "tool.failed": { index: number; code: string };
  "approval.requested": { approvalId: string; index: number };
  "artifact.added": { name: string };
  /** A file that could not be taken from the work area, or into it; without a name: what is said of several. */
  "artifact.left": { name: string | null; reason: string };
  "task.started": { segment: number };
  "task.resumed": { segment: number };
  "task.output": { stream: "stdout" | "stderr"; text: string };
  "task.output_truncated": { bytes: number };
  "task.succeeded": Record<string, never>;
  "task.failed": { code: string };
  "task.cancelled": Record<string, never>;
  "task.timed_out": { code: string };
}

export type TaskEventType = keyof TaskEventData;

/** An event on its way into the log; Postgres gives it its `seq`. `data` is JSON text. */
export interface NewEvent {
  readonly type: TaskEventType;
  readonly data: string;
}

export function newEvent<T extends TaskEventType>(type: T, data: TaskEventData[T]): NewEvent {
  return { type, data: JSON.stringify(data) };
}

/** The terminal event of each end; always a task's last one. */
export function endEvent(status: EndedStatus, code: string): NewEvent {
  switch (status) {
    case "SUCCEEDED":
      return newEvent("task.succeeded", {});
    case "CANCELLED":
      return newEvent("task.cancelled", {});
    case "FAILED":
      return newEvent("task.failed", { code });
    case "TIMED_OUT":
      return newEvent("task.timed_out", { code });
  }
}

const TERMINAL: ReadonlySet<string> = new Set([
  "task.succeeded",
  "task.failed",
  "task.cancelled",
  "task.timed_out",
] satisfies TaskEventType[]);

/** Whether an event of this type is its task's last one. */
export function isTerminal(type: string): boolean {
  return TERMINAL.has(type);
}
