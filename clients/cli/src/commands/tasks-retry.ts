import { defineCommand } from "../command.ts";
import { followTask } from "../tasks/follow.ts";

export const tasksRetry = defineCommand({
  name: "tasks retry",
  summary: "Runs an ended task again, as a new task: its effects happen again.",
  positionals: ["<id>"],
  options: {
    wait: { type: "boolean", help: "wait, show what it returned, and make its outcome the exit code" },
    watch: { type: "boolean", short: "w", help: "the same, and show every event" },
  },
  async run(context, { values, positionals: [id = ""] }) {
    const handle = await (await context.client()).tasks.retry(id);
    const json = values.json === true;
    if (values.watch === true || values.wait === true) {
      return followTask(context, handle, { json, show: values.watch === true ? "all" : "silent" });
    }
    if (json) context.print.json({ id: handle.id });
    else context.print.line(handle.id);
    return 0;
  },
});
