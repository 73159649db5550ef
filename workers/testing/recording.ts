import type { ClaimedTask, TaskEnd } from "@airlock/shared/db";
import type { Context } from "../src/context.ts";
import { createRecorder } from "../src/runner/recorder.ts";

const SUCCEEDED: TaskEnd = { status: "SUCCEEDED", output: "1", exitCode: null, failure: null, leavesTraces: false };

export interface RecordOptions {
  readonly keptOutput?: number;
}

/** A recorder for the claimed task, and what it says when it breaks. */
export function record({ store }: Pick<Context, "store">, task: ClaimedTask, options: RecordOptions = {}) {
  const { keptOutput = 1024 * 1024 } = options;
  const broken: ("fenced" | Error)[] = [];
  const onBroken = (cause: "fenced" | Error) => void broken.push(cause);
  const recorder = createRecorder({ task, store, keptOutput, onBroken });
  return { recorder: { ...recorder, end: () => recorder.end(SUCCEEDED, 0) }, broken };
}
