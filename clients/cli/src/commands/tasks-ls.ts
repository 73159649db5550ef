import type { TaskStatus, TaskSummary } from "@airlock/client";
import { defineCommand, UsageError } from "../command.ts";
import { readLabels, readNumber } from "../json-argument.ts";
import { take } from "../take.ts";
import type { Printer } from "../terminal/printer.ts";
import { shortJson, statusWord, timeWord } from "../terminal/words.ts";

const STATUSES: readonly TaskStatus[] = [
  "QUEUED",
  "RUNNING",
  "PARKED",
  "SUCCEEDED",
  "FAILED",
  "CANCELLED",
  "TIMED_OUT",
];

export const tasksLs = defineCommand({
  name: "tasks ls",
  summary: "Lists tasks, the newest first.",
  options: {
    status: { type: "string", short: "s", multiple: true, value: "status", help: "only these; may be given again" },
    env: { type: "string", short: "e", value: "name", help: "only of this environment" },
    label: { type: "string", multiple: true, value: "name=value", help: "only with this label; may be given again" },
    session: { type: "string", value: "name", help: "only of this session" },
    batch: { type: "string", value: "id", help: "only of this batch" },
    search: { type: "string", value: "words", help: "in the code, the labels and the error message" },
    after: { type: "string", value: "time", help: "only those created after it, like 2026-11-18T20:00Z" },
    before: { type: "string", value: "time", help: "only those created before it" },
    limit: { type: "string", short: "n", value: "n", help: "at most so many (20)" },
  },
  async run(context, { values }) {
    const limit = readNumber("--limit", values.limit) ?? 20;
    const filter = {
      status: values.status?.map(readStatus),
      environment: values.env,
      label: readLabels(values.label),
      session: values.session,
      batch: values.batch,
      search: values.search,
      createdAfter: readTime("--after", values.after),
      createdBefore: readTime("--before", values.before),
    };
    const client = await context.client();
    const tasks = await take(client.tasks.list(filter, { pageSize: Math.min(limit, 100) }), limit);
    if (values.json === true) context.print.json(tasks);
    else context.print.table({ head: HEAD, rows: tasks.map((task) => rowOf(context.print, task)), empty: "no tasks" });
    return 0;
  },
});

const HEAD = ["ID", "STATUS", "ENVIRONMENT", "CREATED", "RESULT"];

function rowOf(print: Printer, { id, status, environment, createdAt, output, error }: TaskSummary): string[] {
  const result =
    error === null ? (output === null ? "" : shortJson(print, output)) : print.quote(`${error.code}: ${error.message}`);
  return [id, statusWord(print, status), environment, timeWord(print, createdAt), result];
}

function readTime(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new UsageError(`${option} is a time, like 2026-11-18 or 2026-11-18T20:00Z`);
  return time.toISOString();
}

function readStatus(text: string): TaskStatus {
  const status = STATUSES.find((one) => one === text.toUpperCase().replace("-", "_"));
  if (status === undefined) throw new UsageError(`--status is one of ${STATUSES.join(", ").toLowerCase()}`);
  return status;
}
