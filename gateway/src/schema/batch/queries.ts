import { isId } from "@airlock/shared/contracts";
import { findBatch } from "@airlock/shared/db";
import { builder } from "../builder.ts";
import { BatchType } from "../task/refs.ts";

builder.queryFields((t) => ({
  batch: t.field({
    type: BatchType,
    nullable: true,
    scope: "read",
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, { app, caller }) => (isId(id) ? findBatch(app.db, caller.projectId, id) : null),
  }),
}));
