import type { TaskRow } from "@airlock/shared/db";
import { toCursor } from "../../pagination.ts";
import { builder } from "../builder.ts";
import { pageInfoOf, PageInfoType } from "../page-info.ts";
import { TaskConnectionType, TaskType } from "./refs.ts";

const TaskEdgeType = builder.objectRef<TaskRow>("TaskEdge").implement({
  fields: (t) => ({
    cursor: t.string({ resolve: (task) => toCursor("task", task.id) }),
    node: t.field({ type: TaskType, resolve: (task) => task }),
  }),
});

TaskConnectionType.implement({
  fields: (t) => ({
    edges: t.field({ type: [TaskEdgeType], resolve: (page) => page.items }),
    pageInfo: t.field({ type: PageInfoType, resolve: (page) => pageInfoOf("task", page) }),
  }),
});
