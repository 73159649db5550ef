import { type ClaimedTask, giveBack, type GiveBackReason } from "@airlock/shared/db";
import type { Context } from "../context.ts";
import { callEntry } from "../desk/entries.ts";
import { markedCalls } from "../desk/open-call.ts";
import { untilDone } from "./retry.ts";
import type { RunningSegment } from "./running-segments.ts";

/** A claimed task and the stretch of running that the claim began. */
export interface Claimed {
  readonly task: ClaimedTask;
  readonly segment: Pick<RunningSegment, "begun">;
}

/** Gives the task back to the queue, however long that takes. */
export async function release(
  context: Context,
  claimed: Claimed,
  reason: GiveBackReason,
  detail: string | null = null,
): Promise<void> {
  const { task } = claimed;
  await unmark(context, claimed);
  await untilDone(
    () => giveBack(context.db, { taskId: task.id, fence: task.segments, begun: claimed.segment.begun }, reason, detail),
    (error) => context.log.warn({ err: error, task: task.id }, "the task could not be given back yet"),
  );
}

/** Where no program was started, no call was: the next segment must not take those that the claim marked for lost. */
export async function unmark(context: Context, { task, segment }: Claimed): Promise<void> {
  const updates = segment.begun
    ? []
    : markedCalls(task).flatMap((call) => callEntry(call, { status: "WAITING" }).update ?? []);
  if (updates.length === 0) return;
  const nothing = { events: [], outputChars: 0, calls: [], approvals: [], activeMs: 0, end: null, parking: null };
  await untilDone(
    () => context.store.write({ ...nothing, taskId: task.id, fence: task.segments, updates }),
    (error) => context.log.warn({ err: error, task: task.id }, "calls that never began still look as if they had"),
  );
}
