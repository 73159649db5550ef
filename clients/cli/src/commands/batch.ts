import type { Batch, BatchHandle, SubmitTaskInput } from "@airlock/client";
import { defineCommand, UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import { readSource } from "../program-source.ts";
import { take } from "../take.ts";
import { createProgressBar, describeCounts } from "../terminal/progress-bar.ts";

export const batch = defineCommand({
  name: "batch",
  summary: "Submits many tasks at once, all or nothing, and follows them to the end.",
  positionals: ["<file.jsonl|->"],
  options: {
    label: { type: "string", value: "text", help: "of the batch" },
    detach: { type: "boolean", short: "d", help: "do not wait: print the batch's id" },
    "idempotency-key": { type: "string", value: "text", help: "the same key and file make one batch" },
  },
  notes: `
Each line is a task, as submitTask takes it:

  {"code": "return input * 2", "input": 1}
  {"code": "return input * 2", "input": 2, "labels": {"kind": "double"}}

With --json the batch is printed with its tasks, in the order of the lines. The exit code is 0 when all have succeeded.`,
  async run(context, { values, positionals: [file = "-"] }) {
    const tasks = parseLines(await readSource(file, context.stdin));
    const { batches } = await context.client();
    const handle = await batches.submit({ tasks, label: values.label, idempotencyKey: values["idempotency-key"] });
    const json = values.json === true;
    if (values.detach === true) {
      if (json) context.print.json({ id: handle.id });
      else context.print.line(handle.id);
      return EXIT.ok;
    }
    const ended = await follow(context, handle);
    if (json) context.print.json({ ...ended, tasks: await take(handle.tasks(), ended.total) });
    else context.print.line(summaryOf(ended));
    return ended.counts.succeeded === ended.total ? EXIT.ok : EXIT.failed;
  },
});

async function follow(context: Context, handle: BatchHandle): Promise<Batch> {
  const { print } = context;
  context.interruption().addEventListener("abort", () => {
    print.note("\nairlock: cancels the batch (again to leave it alone) …");
    handle.cancel().catch((error: Error) => print.note(`airlock: cannot cancel it: ${error.message}`));
  });
  const bar = createProgressBar(print);
  try {
    for await (const state of handle.progress()) bar.show(state);
  } finally {
    bar.clear();
  }
  return handle.get();
}

function summaryOf({ id, total, counts }: Batch): string {
  return [`batch ${id}: ${counts.succeeded} of ${total} succeeded`, ...describeCounts(counts)].join(", ");
}

/** All faults at once: a file of ten thousand lines is not mended one run at a time. */
function parseLines(text: string): SubmitTaskInput[] {
  const faults: string[] = [];
  const tasks = text.split("\n").flatMap((line, i): SubmitTaskInput[] => {
    if (line.trim() === "") return [];
    try {
      const task = JSON.parse(line) as SubmitTaskInput | null;
      if (task !== null && typeof task === "object" && typeof task.code === "string") return [task];
      faults.push(`line ${i + 1}: a task is an object with \`code\``);
    } catch (error) {
      faults.push(`line ${i + 1}: ${(error as Error).message}`);
    }
    return [];
  });
  if (faults.length > 0) throw new UsageError([...faults.slice(0, 20), ...more(faults.length - 20)].join("\n"));
  if (tasks.length === 0) throw new UsageError("there is no task in it");
  return tasks;
}

function more(count: number): string[] {
  return count > 0 ? [`and ${count} more`] : [];
}
