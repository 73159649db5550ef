import type { TaskEvent, TaskHandle } from "@airlock/client";
import { defineCommand } from "../command.ts";
import { readNumber } from "../json-argument.ts";
import { showEvents } from "../tasks/show-events.ts";

export const tasksLogs = defineCommand({
  name: "tasks logs",
  summary: "Prints what a task wrote.",
  positionals: ["<id>"],
  options: {
    follow: { type: "boolean", short: "f", help: "go on until the task has ended" },
    events: { type: "boolean", help: "every event, not only the output" },
    after: { type: "string", value: "seq", help: "only what came after this event (0)" },
  },
  notes: "With --json each event is a line of its own, output included. Ctrl-C stops reading; the task goes on.",
  async run(context, { values, positionals: [id = ""] }) {
    const after = readNumber("--after", values.after) ?? 0;
    const handle = (await context.client()).tasks.handle(id);
    const events = values.follow === true ? handle.events({ after }) : soFar(handle, after);
    await showEvents(context.print, events, {
      json: values.json === true,
      all: values.events === true,
      advise: values.follow === true,
    });
    return 0;
  },
});

/** History alone: the live stream of a task that has not ended would wait for more. */
async function* soFar(handle: TaskHandle, after: number): AsyncGenerator<TaskEvent, void> {
  for (let cursor = after; ;) {
    const page = await handle.history(cursor);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    cursor = last.seq;
  }
}
