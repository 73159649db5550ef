import type { ApprovalRow } from "@airlock/shared/db";
import type { ApprovalKind } from "@airlock/shared/domain";
import type { Loaders } from "../../loaders.ts";
import { fromJsonText } from "../scalars/json.ts";
import { TaskType } from "../task/refs.ts";
import { ToolCallType } from "../tool-call/refs.ts";
import { ApprovalKindType, ApprovalStatusType } from "./enums.ts";
import { ApprovalType } from "./refs.ts";

ApprovalType.implement({
  fields: (t) => ({
    id: t.exposeID("id"),
    kind: t.expose("kind", { type: ApprovalKindType }),
    task: t.field({ type: TaskType, resolve: ({ task_id }, _, { loaders }) => taskOf(loaders, task_id) }),
    toolCall: t.field({
      type: ToolCallType,
      nullable: true,
      description: "Null for kinds that are not about one call.",
      resolve: (approval, _, { loaders }) => callOf(loaders, approval),
    }),
    inputHash: t.string({
      description: "SHA-256 of what is shown, for every kind.",
      resolve: (approval) => approval.input_hash.toString("hex"),
    }),
    status: t.expose("status", { type: ApprovalStatusType }),
    requestedAt: t.expose("requested_at", { type: "DateTime" }),
    expiresAt: t.expose("expires_at", { type: "DateTime" }),
    decidedAt: t.expose("decided_at", { type: "DateTime", nullable: true }),
    decidedBy: t.exposeString("decided_by", { nullable: true, description: "The name of the API key." }),
    reason: t.exposeString("reason", { nullable: true }),
    editedInput: t.field({
      type: "JSON",
      nullable: true,
      description: "The input that ran instead, if the approver edited it.",
      resolve: (approval) => fromJsonText(approval.edited_input),
    }),
    answer: t.field({
      type: "JSON",
      nullable: true,
      description: "What answerQuestion said.",
      resolve: (approval) => fromJsonText(approval.answer),
    }),
  }),
});

async function taskOf(loaders: Loaders, taskId: string) {
  const task = await loaders.task.load(taskId);
  if (task === null) throw new Error("an approval is there without its task");
  return task;
}

/** They hold a call up, but what they show is something else. */
const ABOUT_NO_CALL: readonly ApprovalKind[] = ["BUDGET", "EGRESS"];

async function callOf(loaders: Loaders, { kind, task_id: taskId, call_index: index }: ApprovalRow) {
  return ABOUT_NO_CALL.includes(kind) ? null : loaders.call.load({ taskId, index });
}
