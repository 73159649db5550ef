import type { ToolCallRow } from "@airlock/shared/db";
import { TOOL_CALL_STATUSES, type TaskFailure } from "@airlock/shared/domain";
import { ApprovalType } from "../approval/refs.ts";
import { builder } from "../builder.ts";
import { fromJsonText } from "../scalars/json.ts";
import { TaskErrorType } from "../task/task-error.ts";
import { ToolCallType } from "./refs.ts";

const ToolCallStatusType = builder.enumType("ToolCallStatus", { values: TOOL_CALL_STATUSES });

ToolCallType.implement({
  fields: (t) => ({
    index: t.exposeInt("index", { description: "From 0, in the order in which the program made its calls." }),
    path: t.exposeString("path"),
    input: t.field({
      type: "JSON",
      nullable: true,
      description: "With defaults filled in: what the hash is of.",
      resolve: inputOf,
    }),
    inputHash: t.string({ resolve: (call) => call.input_hash.toString("hex") }),
    status: t.expose("status", { type: ToolCallStatusType }),
    output: t.field({ type: "JSON", nullable: true, resolve: (call) => fromJsonText(call.output) }),
    error: t.field({ type: TaskErrorType, nullable: true, resolve: errorOf }),
    approval: t.field({
      type: ApprovalType,
      nullable: true,
      resolve: (call, _, { loaders }) => (call.approval_id === null ? null : loaders.approval.load(call.approval_id)),
    }),
    startedAt: t.expose("started_at", { type: "DateTime", nullable: true }),
    finishedAt: t.expose("finished_at", { type: "DateTime", nullable: true }),
  }),
});

/** A call that was refused because it sent no JSON is in the journal as it came. */
function inputOf({ input, sent }: ToolCallRow): unknown {
  try {
    return JSON.parse(input ?? sent);
  } catch {
    return sent;
  }
}

function errorOf(call: ToolCallRow): TaskFailure | null {
  return call.error_code === null ? null : { code: call.error_code, message: call.error_message ?? "" };
}
