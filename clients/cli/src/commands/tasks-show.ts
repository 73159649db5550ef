import type { Task } from "@airlock/client";
import { defineCommand } from "../command.ts";
import type { Printer } from "../terminal/printer.ts";
import { shortJson, statusWord, timeWord } from "../terminal/words.ts";

export const tasksShow = defineCommand({
  name: "tasks show",
  summary: "Shows a task: its state, its calls, its approvals, its files.",
  positionals: ["<id>"],
  async run(context, { values, positionals: [id = ""] }) {
    const task = await (await context.client()).tasks.handle(id).get();
    if (values.json === true) context.print.json(task);
    else for (const line of describeTask(context.print, task)) context.print.line(line);
    return 0;
  },
});

function describeTask(print: Printer, task: Task): string[] {
  const field = (name: string, value: string | null | undefined): string[] =>
    value === null || value === undefined ? [] : [`${print.style("bold", name.padEnd(12))} ${value}`];
  const json = (value: unknown): string | null => (value === null ? null : shortJson(print, value, 500));
  return [
    ...field("task", task.id),
    ...field("status", statusWord(print, task.status)),
    ...field("environment", `${task.environment}, ${task.language.toLowerCase()}`),
    ...field("isolation", task.isolation && `${task.isolation.level} (${task.isolation.provider})`),
    ...field("created", timeWord(print, task.createdAt)),
    ...field("started", task.startedAt && timeWord(print, task.startedAt)),
    ...field("finished", task.finishedAt && timeWord(print, task.finishedAt)),
    ...field("segments", String(task.segments)),
    ...field("replayable", task.replayable ? null : "no: run at most once"),
    ...field("session", task.session && print.quote(task.session)),
    ...field("labels", json(task.labels)),
    ...field("batch", task.batch?.id),
    ...field("retry of", task.retryOf?.id),
    ...field("fork of", task.forkOf?.id),
    ...field("input", json(task.input)),
    ...field("output", json(task.output)),
    ...field("error", task.error && print.quote(`${task.error.code}: ${task.error.message}`)),
    ...task.toolCalls.flatMap(({ index, path, status, input }) =>
      field(`call ${index}`, `${statusOfCall(print, status)} ${path} ${json(input) ?? ""}`),
    ),
    ...task.approvals.flatMap(({ id, kind, status, decidedBy }) =>
      field(
        "approval",
        `${statusWord(print, status)} ${kind} ${id}${decidedBy === null ? "" : ` by ${print.quote(decidedBy)}`}`,
      ),
    ),
    ...task.artifacts.flatMap(({ name, size, url }) => field("file", `${print.quote(name)} (${size} bytes) ${url}`)),
  ];
}

function statusOfCall(print: Printer, status: string): string {
  return print.style(status === "SUCCEEDED" ? "green" : status === "WAITING" ? "yellow" : "gray", status);
}
