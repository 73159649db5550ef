import { builder } from "../builder.ts";
import { LanguageType, TaskStatusType } from "./enums.ts";

const FileInputType = builder.inputType("FileInput", {
  description: "A file that the task is given, as text (content) or as bytes (base64).",
  fields: (t) => ({
    path: t.string({ required: true, description: "Relative to the work area, like `data/in.csv`." }),
    content: t.string(),
    base64: t.string(),
  }),
});

export const SubmitTaskInputType = builder.inputType("SubmitTaskInput", {
  fields: (t) => ({
    code: t.string({ required: true }),
    language: t.field({ type: LanguageType, defaultValue: "TYPESCRIPT" }),
    environment: t.string({
      description: "Name of an environment. Absent: the session's, else the project's default, else `isolate`.",
    }),
    input: t.field({ type: "JSON", description: "Visible to the code as the constant `input`." }),
    files: t.field({
      type: [FileInputType],
      description: "In the work area when the program starts; in the isolate they are read with `artifacts.get`.",
    }),
    dependencies: t.field({
      type: "JSON",
      description:
        "npm package name -> range, for JavaScript, TypeScript and Bun outside the isolate; above the environment's own.",
    }),
    session: t.string(),
    timeoutMs: t.int({ description: "Active time only: time spent parked does not count." }),
    queueTtlMs: t.int({ description: "Not started by then: TIMED_OUT." }),
    priority: t.int({ description: "0 (default) to 999; higher is sooner." }),
    runAt: t.field({ type: "DateTime", description: "In the future: QUEUED until then." }),
    idempotencyKey: t.string({
      description:
        "The same key and payload in the same project always answer with the same task; another payload is a CONFLICT.",
    }),
    labels: t.field({ type: "JSON", description: "A flat object of scalars." }),
    maxToolCalls: t.int({ description: "Beyond it the task parks and asks (BUDGET)." }),
    replayable: t.boolean({
      defaultValue: true,
      description:
        "false: the program is run at most once, outside the isolate. It never parks (what would need a person is TOOL_DENIED), ends as WORKER_LOST when its worker is lost, and can use its session's sandbox again (REUSE_BY_SESSION).",
    }),
  }),
});

export const TaskFilterType = builder.inputType("TaskFilter", {
  description:
    "label: all given pairs match. search: words of code, labels and error message; all must be there, the last one also as the beginning of a word.",
  fields: (t) => ({
    status: t.field({ type: [TaskStatusType] }),
    environment: t.string(),
    session: t.string(),
    batch: t.id(),
    label: t.field({ type: "JSON" }),
    createdAfter: t.field({ type: "DateTime" }),
    createdBefore: t.field({ type: "DateTime" }),
    search: t.string(),
  }),
});
