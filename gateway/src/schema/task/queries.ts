import { isId } from "@airlock/shared/contracts";
import { findTask } from "@airlock/shared/db";
import { followTasks, listProjectTasks } from "../../use-cases/list-tasks.ts";
import { builder } from "../builder.ts";
import { fromCursor, listCost, pageSize, TASK_PAGE } from "../../pagination.ts";
import { TaskFilterType } from "./inputs.ts";
import { TaskConnectionType, TaskType } from "./refs.ts";

builder.queryFields((t) => ({
  task: t.field({
    type: TaskType,
    nullable: true,
    scope: "read",
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, { app, caller }) => (isId(id) ? findTask(app.db, caller.projectId, id) : null),
  }),
  tasks: t.field({
    type: TaskConnectionType,
    scope: "read",
    description:
      "The newest first. A page may be short, even empty, and have a next one: it ends where enough tasks were looked at.",
    args: { filter: t.arg({ type: TaskFilterType }), first: t.arg.int(), after: t.arg.string() },
    complexity: listCost(TASK_PAGE),
    resolve: (_, { filter, first, after }, { app, caller }) =>
      listProjectTasks(app, caller, filter ?? {}, {
        size: pageSize(first, TASK_PAGE),
        after: fromCursor("task", after),
      }),
  }),
}));

builder.subscriptionFields((t) => ({
  taskUpdates: t.field({
    type: TaskType,
    scope: "read",
    description:
      "For lists: first the `latest` tasks that match the filter (at most 100; the newest comes last), then each when it is submitted and when its state changes (at most a few times a second), and once more when it ceases to match.",
    args: { filter: t.arg({ type: TaskFilterType }), latest: t.arg.int({ defaultValue: 0 }) },
    subscribe: (_, { filter, latest }, { app, caller }) => followTasks(app, caller, filter ?? {}, latest ?? 0),
    resolve: (task) => task,
  }),
}));
