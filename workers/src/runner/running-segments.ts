/** Why a running guest is ended from outside. */
export type StopReason = "cancelled" | "fenced" | "drain" | "unwritable" | "diverged" | "misplaced";

/** The segment is stopped and its task is not: the next segment goes on. */
export function isHandedOn({ aborted, reason }: AbortSignal): boolean {
  const stopped = reason as StopReason;
  return aborted && stopped !== "cancelled" && stopped !== "diverged";
}

export interface RunningSegment {
  readonly taskId: string;
  readonly fence: number;
  readonly abort: AbortController;
  /** Its program is on the way: calls may have been started. */
  begun: boolean;
  /** An outcome may have been stored for it. */
  look: () => void;
}

/** The segments that this worker runs now. */
export interface RunningSegments {
  readonly count: number;
  add(taskId: string, fence: number): RunningSegment;
  remove(segment: RunningSegment): void;
  has(taskId: string, fence: number): boolean;
  /** Outcomes were stored for these tasks. */
  look(taskIds: readonly string[]): void;
  stop(taskIds: readonly string[], reason: StopReason): void;
  stopAll(reason: StopReason): void;
}

export function createRunningSegments(): RunningSegments {
  const segments = new Map<string, RunningSegment>();
  return {
    get count() {
      return segments.size;
    },
    add(taskId, fence) {
      const segment = { taskId, fence, abort: new AbortController(), begun: false, look: () => undefined };
      segments.set(taskId, segment);
      return segment;
    },
    remove(segment) {
      if (segments.get(segment.taskId) === segment) segments.delete(segment.taskId);
    },
    has: (taskId, fence) => segments.get(taskId)?.fence === fence,
    look(taskIds) {
      for (const id of taskIds) segments.get(id)?.look();
    },
    stop(taskIds, reason) {
      for (const id of taskIds) segments.get(id)?.abort.abort(reason);
    },
    stopAll(reason) {
      for (const segment of segments.values()) segment.abort.abort(reason);
    },
  };
}
