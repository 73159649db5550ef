import { listBatchTasks } from "@airlock/shared/db";
import { allEnded, type TaskStatus } from "@airlock/shared/domain";
import { builder } from "../builder.ts";
import { fromCursor, listCost, pageSize, TASK_PAGE, toPage } from "../../pagination.ts";
import { BatchType, TaskConnectionType } from "../task/refs.ts";

type Counts = Partial<Record<TaskStatus, number>>;

const BatchCountsType = builder.objectRef<Counts>("BatchCounts").implement({
  fields: (t) => {
    const count = (status: TaskStatus) => t.int({ resolve: (counts) => counts[status] ?? 0 });
    return {
      queued: count("QUEUED"),
      running: count("RUNNING"),
      parked: count("PARKED"),
      succeeded: count("SUCCEEDED"),
      failed: count("FAILED"),
      cancelled: count("CANCELLED"),
      timedOut: count("TIMED_OUT"),
    };
  },
});

BatchType.implement({
  fields: (t) => ({
    id: t.exposeID("id"),
    label: t.exposeString("label", { nullable: true }),
    total: t.exposeInt("total"),
    counts: t.field({ type: BatchCountsType, resolve: (batch, _, { loaders }) => loaders.batchCounts.load(batch.id) }),
    done: t.boolean({
      resolve: async (batch, _, { loaders }) => allEnded(await loaders.batchCounts.load(batch.id)),
    }),
    tasks: t.field({
      type: TaskConnectionType,
      description: "In the order of submission.",
      args: { first: t.arg.int(), after: t.arg.string() },
      complexity: listCost(TASK_PAGE),
      resolve: async (batch, args, { app }) => {
        const size = pageSize(args.first, TASK_PAGE);
        const after = fromCursor("task", args.after);
        return toPage(await listBatchTasks(app.db, batch.id, { limit: size + 1, after }), size, after);
      },
    }),
  }),
});
