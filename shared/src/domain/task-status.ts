/**
 * The one home of a task's states.
 *
 *   QUEUED ──claim──▶ RUNNING ──▶ SUCCEEDED | FAILED | TIMED_OUT | CANCELLED
 *     ▲                │  │
 *     │   worker lost  │  └─park─▶ PARKED ──wake──▶ QUEUED
 *     └────────────────┘
 */
export const TASK_STATUSES = ["QUEUED", "RUNNING", "PARKED", "SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT"] as const;

export type TaskStatus = (typeof TASK_STATUSES)[number];

/** What each state means, for people: docs and the API's descriptions are printed from here. */
export const TASK_STATUS_MEANING: Record<TaskStatus, string> = {
  QUEUED: "Accepted and waiting for a worker, or for its runAt.",
  RUNNING: "A worker holds the task's fence and is running its code.",
  PARKED: "Waiting for a person or a long timer; holds no worker.",
  SUCCEEDED: "The code returned; `output` is what it returned.",
  FAILED: "Ended by an error; `error` says which and whether a retry can help.",
  CANCELLED: "Ended by cancelTask or cancelBatch.",
  TIMED_OUT: "Ran out of active time, or was not started within its queueTtlMs.",
};

const NEXT: Record<TaskStatus, readonly TaskStatus[]> = {
  QUEUED: ["RUNNING", "CANCELLED", "TIMED_OUT", "FAILED"],
  RUNNING: ["QUEUED", "PARKED", "SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT"],
  PARKED: ["QUEUED", "CANCELLED"],
  SUCCEEDED: [],
  FAILED: [],
  CANCELLED: [],
  TIMED_OUT: [],
};

export function canTransition(from: TaskStatus, to: TaskStatus): boolean {
  return NEXT[from].includes(to);
}

/** The states from which `to` may be reached: what an update's `where status in (…)` carries. */
export function statusesBefore(to: TaskStatus): TaskStatus[] {
  return TASK_STATUSES.filter((from) => canTransition(from, to));
}

export type EndedStatus = "SUCCEEDED" | "FAILED" | "CANCELLED" | "TIMED_OUT";

export function hasEnded(status: TaskStatus): status is EndedStatus {
  return NEXT[status].length === 0;
}

/** Of so many tasks in each state, none can change any more. Not by the sum: retention deletes ended ones. */
export function allEnded(counts: Partial<Record<TaskStatus, number>>): boolean {
  return TASK_STATUSES.every((status) => hasEnded(status) || (counts[status] ?? 0) === 0);
}
