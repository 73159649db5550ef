import { callTool } from "../../use-cases/call-tool.ts";
import { cancelTask } from "../../use-cases/cancel.ts";
import { forkTask } from "../../use-cases/fork.ts";
import { retryTask } from "../../use-cases/retry.ts";
import { submitTask } from "../../use-cases/submit-task.ts";
import { DecideApprovalInputType } from "../approval/inputs.ts";
import { builder } from "../builder.ts";
import { SubmitTaskInputType } from "./inputs.ts";
import { TaskType } from "./refs.ts";

builder.mutationFields((t) => ({
  submitTask: t.field({
    type: TaskType,
    scope: "submit",
    args: { input: t.arg({ type: SubmitTaskInputType, required: true }) },
    resolve: (_, { input }, { app, caller }) => submitTask(app, caller, input),
  }),
  cancelTask: t.field({
    type: TaskType,
    scope: "submit",
    description: "An ended task comes back unchanged.",
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, { app, caller }) => cancelTask(app, caller, id),
  }),
  retryTask: t.field({
    type: TaskType,
    scope: "submit",
    description: "A new task with an empty journal, `retryOf` the old one: effects happen again.",
    args: {
      id: t.arg.id({ required: true }),
      idempotencyKey: t.arg.string({
        description: "The same key for the same task always answers with the same retry.",
      }),
    },
    resolve: (_, args, { app, caller }) => retryTask(app, caller, args),
  }),
  callTool: t.field({
    type: TaskType,
    scope: "submit",
    description: "One tool call as a task.",
    args: {
      path: t.arg.string({ required: true }),
      input: t.arg({ type: "JSON", required: true }),
      idempotencyKey: t.arg.string({
        description: "The same key and call always answer with the same task; another call is a CONFLICT.",
      }),
    },
    resolve: (_, args, { app, caller }) => callTool(app, caller, args),
  }),
  forkTask: t.field({
    type: TaskType,
    scope: "submit",
    description:
      "A second task from a parked one, with its own answers: `decisions` name the original's approvals and need the scope approve.",
    args: { id: t.arg.id({ required: true }), decisions: t.arg({ type: [DecideApprovalInputType] }) },
    resolve: (_, args, { app, caller }) => forkTask(app, caller, args),
  }),
}));
