import { cancelBatch } from "../../use-cases/cancel.ts";
import { submitBatch } from "../../use-cases/submit-batch.ts";
import { builder } from "../builder.ts";
import { BatchType } from "../task/refs.ts";
import { SubmitBatchInputType } from "./inputs.ts";

builder.mutationFields((t) => ({
  submitBatch: t.field({
    type: BatchType,
    scope: "submit",
    args: { input: t.arg({ type: SubmitBatchInputType, required: true }) },
    resolve: (_, { input }, { app, caller }) => submitBatch(app, caller, input),
  }),
  cancelBatch: t.field({
    type: BatchType,
    scope: "submit",
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, { app, caller }) => cancelBatch(app, caller, id),
  }),
}));
