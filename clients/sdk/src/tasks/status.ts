import type { TaskStatus } from "../generated.ts";

export type EndedStatus = "SUCCEEDED" | "FAILED" | "CANCELLED" | "TIMED_OUT";

export function hasEnded(status: TaskStatus): status is EndedStatus {
  switch (status) {
    case "SUCCEEDED":
    case "FAILED":
    case "CANCELLED":
    case "TIMED_OUT":
      return true;
    case "QUEUED":
    case "RUNNING":
    case "PARKED":
      return false;
  }
}

/** The types of a task's last event. */
const LAST_EVENTS: ReadonlySet<string> = new Set(["task.succeeded", "task.failed", "task.cancelled", "task.timed_out"]);

export function isLastEvent(type: string): boolean {
  return LAST_EVENTS.has(type);
}
