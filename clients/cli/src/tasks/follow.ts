import type { Task, TaskHandle } from "@airlock/client";
import type { Context } from "../context.ts";
import { exitCodeOf } from "../exit-codes.ts";
import { showEnd } from "./show-end.ts";
import { showEvents } from "./show-events.ts";

export interface FollowOptions {
  readonly json: boolean;
  /** silent: only the end. output: what the guest writes, too. all: every event. */
  readonly show: "silent" | "output" | "all";
}

/** Follows a task to its end, which is the exit code. Ctrl-C cancels the task; the second one leaves it alone. */
export async function followTask(context: Context, handle: TaskHandle, options: FollowOptions): Promise<number> {
  const { print } = context;
  const cancel = (): void => {
    print.note("airlock: cancels the task (again to leave it alone) …");
    handle.cancel().catch((error: Error) => print.note(`airlock: cannot cancel it: ${error.message}`));
  };
  const interruption = context.interruption();
  interruption.addEventListener("abort", cancel, { once: true });
  const { json, show } = options;
  if (show === "all" || (show === "output" && !json))
    await showEvents(print, handle.events(), { json, all: show === "all", advise: true });
  const task: Task = await handle.ended();
  if (!json) return showEnd(print, task);
  if (show === "all") print.jsonLine(task);
  else print.json(task);
  return exitCodeOf(task.status);
}
