import type { Bus } from "@airlock/shared/bus";
import { endEvent, newEvent, newId, topics } from "@airlock/shared/contracts";
import { claimTasks, type Database, insertTasks, type SegmentWrite, writeSegments } from "@airlock/shared/db";
import { newTask } from "@airlock/shared/testing";

/** A task that a worker runs, as far as Postgres and the bus can tell. */
export interface RunningTask {
  readonly id: string;
  /** Answers the newest seq. */
  print(...texts: readonly string[]): Promise<number>;
  succeed(): Promise<number>;
}

/** `bus` null: its hints are all lost. */
export async function runTask(db: Database, bus: Bus | null, projectId: string): Promise<RunningTask> {
  const task = newTask(projectId);
  await insertTasks(db, [task], 0);
  const isolation = '{"provider":"isolate","level":"wasm","enforced":{}}';
  await claimTasks(db, [{ taskId: task.id, job: 1, isolation, image: null }], newId());

  async function write(change: Partial<SegmentWrite>): Promise<number> {
    const nothing = { outputChars: 0, calls: [], updates: [], approvals: [], activeMs: 0, end: null, parking: null };
    const [written] = await writeSegments(db, [{ taskId: task.id, fence: 1, events: [], ...nothing, ...change }]);
    if (!written) throw new Error("the task was taken away");
    await bus?.publish(topics.events, [[task.id, written.seq]]);
    return written.seq;
  }

  return {
    id: task.id,
    print: (...texts) => write({ events: texts.map((text) => newEvent("task.output", { stream: "stdout", text })) }),
    succeed: () =>
      write({
        events: [endEvent("SUCCEEDED", "")],
        end: { status: "SUCCEEDED", output: null, exitCode: 0, failure: null, leavesTraces: false },
      }),
  };
}
