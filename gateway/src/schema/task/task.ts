import { CALL_PAGE, EVENT_PAGE, listCost, pageSize } from "../../pagination.ts";
import { labelsToJson } from "../../use-cases/labels.ts";
import { ApprovalStatusType } from "../approval/enums.ts";
import { ApprovalType } from "../approval/refs.ts";
import { ArtifactType } from "../artifact/index.ts";
import { TaskEventType } from "../event/event.ts";
import { LeaseType } from "../lease/lease.ts";
import { fromJsonText } from "../scalars/json.ts";
import { ToolCallType } from "../tool-call/refs.ts";
import { LanguageType, TaskStatusType } from "./enums.ts";
import { IsolationReportType, readIsolation } from "./isolation.ts";
import { BatchType, TaskType } from "./refs.ts";
import { TaskErrorType, taskErrorOf } from "./task-error.ts";

/** Lists that have no pages are taken to hold this many things when the cost of a query is judged. */
const SHORT_LIST = { field: 1, multiplier: 10 };

TaskType.implement({
  fields: (t) => ({
    id: t.exposeID("id"),
    status: t.expose("status", { type: TaskStatusType }),
    language: t.expose("language", { type: LanguageType }),
    environment: t.exposeString("environment"),
    environmentRevision: t.exposeInt("environment_revision", {
      nullable: true,
      description:
        "The revision that its first run began with, and that every other run uses; null: built in, or not begun.",
    }),
    dependencies: t.field({
      type: "JSON",
      nullable: true,
      description: "The npm packages that it was submitted with, beside its environment's.",
      resolve: (task) => fromJsonText(task.dependencies),
    }),
    commit: t.exposeString("commit_hash", {
      nullable: true,
      description: "Of its environment's repository, as its first run found it, and every other run gets it.",
    }),
    code: t.exposeString("code"),
    input: t.field({ type: "JSON", nullable: true, resolve: (task) => fromJsonText(task.input) }),
    output: t.field({
      type: "JSON",
      nullable: true,
      description: "What the code returned.",
      resolve: (task) => fromJsonText(task.output),
    }),
    exitCode: t.exposeInt("exit_code", { nullable: true }),
    error: t.field({ type: TaskErrorType, nullable: true, resolve: taskErrorOf }),
    session: t.exposeString("session", { nullable: true }),
    labels: t.field({
      type: "JSON",
      nullable: true,
      resolve: async (task, _, { loaders }) => labelsToJson(await loaders.labels.load(task.id)),
    }),
    batch: t.field({
      type: BatchType,
      nullable: true,
      resolve: (task, _, { loaders }) => (task.batch_id === null ? null : loaders.batch.load(task.batch_id)),
    }),
    retryOf: t.field({
      type: TaskType,
      nullable: true,
      resolve: (task, _, { loaders }) => (task.retry_of === null ? null : loaders.task.load(task.retry_of)),
    }),
    forkOf: t.field({
      type: TaskType,
      nullable: true,
      description: "The parked task that forkTask made this one from.",
      resolve: (task, _, { loaders }) => (task.forked_from === null ? null : loaders.task.load(task.forked_from)),
    }),
    replayable: t.exposeBoolean("replayable", { description: "Whether its program may be run more than once." }),
    segments: t.exposeInt("segments", {
      description: "How many times a worker picked the task up: 1 + resumes + recoveries.",
    }),
    createdAt: t.expose("created_at", { type: "DateTime" }),
    startedAt: t.expose("started_at", { type: "DateTime", nullable: true }),
    finishedAt: t.expose("finished_at", { type: "DateTime", nullable: true }),
    toolCalls: t.field({
      type: [ToolCallType],
      description: "In the order in which the program made them; `after` is an index.",
      args: { first: t.arg.int(), after: t.arg.int() },
      complexity: listCost(CALL_PAGE),
      resolve: (task, { after, first }, { loaders }) =>
        loaders.calls({ after: after ?? -1, limit: pageSize(first, CALL_PAGE) }).load(task.id),
    }),
    approvals: t.field({
      type: [ApprovalType],
      description: "In the order in which they were asked for.",
      args: { status: t.arg({ type: ApprovalStatusType }) },
      complexity: SHORT_LIST,
      resolve: async (task, { status }, { loaders }) => {
        const all = await loaders.approvals.load(task.id);
        return status ? all.filter((approval) => approval.status === status) : all;
      },
    }),
    artifacts: t.field({
      type: [ArtifactType],
      complexity: SHORT_LIST,
      resolve: (task, _, { loaders }) => loaders.artifacts.load(task.id),
    }),
    events: t.field({
      type: [TaskEventType],
      args: { after: t.arg.int(), first: t.arg.int() },
      complexity: listCost(EVENT_PAGE),
      resolve: (task, { after, first }, { loaders }) =>
        loaders.events({ after: after ?? 0, limit: pageSize(first, EVENT_PAGE) }).load(task.id),
    }),
    leases: t.field({
      type: [LeaseType],
      description: "Its sandboxes, the first first; only of providers whose sandboxes can outlive their worker.",
      complexity: SHORT_LIST,
      resolve: (task, _, { loaders }) => loaders.leases.load(task.id),
    }),
    isolation: t.field({
      type: IsolationReportType,
      nullable: true,
      resolve: (task) => readIsolation(task.isolation),
    }),
  }),
});
