import { followTask } from "../../use-cases/follow-task.ts";
import { builder } from "../builder.ts";
import { TaskEventType } from "./event.ts";

builder.subscriptionFields((t) => ({
  taskEvents: t.field({
    type: TaskEventType,
    scope: "read",
    description:
      "Everything after `after` (0: from the start), then live, in order, once each; completes after the task's last event.",
    args: { taskId: t.arg.id({ required: true }), after: t.arg.int({ defaultValue: 0 }) },
    subscribe: (_, { taskId, after }, { app, caller, lastEventId }) =>
      followTask(app, caller, { taskId, after: after ?? 0, lastEventId }),
    resolve: (event) => event,
  }),
}));
