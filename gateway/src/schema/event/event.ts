import type { EventRow } from "@airlock/shared/db";
import { builder } from "../builder.ts";
import { fromJsonText } from "../scalars/json.ts";

export const TaskEventType = builder.objectRef<EventRow>("TaskEvent").implement({
  description: "`seq` starts at 1 for each task and has no gaps; the terminal event is the last.",
  fields: (t) => ({
    taskId: t.exposeID("task_id"),
    seq: t.exposeInt("seq"),
    at: t.expose("at", { type: "DateTime" }),
    type: t.exposeString("type"),
    data: t.field({ type: "JSON", resolve: (event) => fromJsonText(event.data) }),
  }),
});
