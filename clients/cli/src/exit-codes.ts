import type { TaskStatus } from "@airlock/client";

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  cancelled: 3,
  timedOut: 4,
  /** The gateway could not be reached, or refused. */
  refused: 5,
  /** As a shell tells it of SIGINT. */
  interrupted: 130,
} as const;

export function exitCodeOf(status: TaskStatus): number {
  switch (status) {
    case "FAILED":
      return EXIT.failed;
    case "CANCELLED":
      return EXIT.cancelled;
    case "TIMED_OUT":
      return EXIT.timedOut;
    case "SUCCEEDED":
    case "QUEUED":
    case "RUNNING":
    case "PARKED":
      return EXIT.ok;
  }
}
