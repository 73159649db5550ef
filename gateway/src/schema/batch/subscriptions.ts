import { isId } from "@airlock/shared/contracts";
import { findBatch } from "@airlock/shared/db";
import { notFound } from "../../use-cases/not-found.ts";
import { builder } from "../builder.ts";
import { BatchType } from "../task/refs.ts";

builder.subscriptionFields((t) => ({
  batchProgress: t.field({
    type: BatchType,
    scope: "read",
    description: "First the current state, then each change (at most a few a second); completes when all have ended.",
    args: { batchId: t.arg.id({ required: true }) },
    subscribe: async (_, { batchId }, { app, caller }) => {
      const batch = isId(batchId) ? await findBatch(app.db, caller.projectId, batchId) : null;
      if (batch === null) throw notFound("batch");
      return app.live.batches.follow(batch);
    },
    resolve: (batch) => batch,
  }),
}));
