import { builder } from "../builder.ts";
import { SubmitTaskInputType } from "../task/inputs.ts";

export const SubmitBatchInputType = builder.inputType("SubmitBatchInput", {
  description: "At most 10,000 tasks; items carry no idempotency key of their own. All or nothing.",
  fields: (t) => ({
    tasks: t.field({ type: [SubmitTaskInputType], required: true }),
    label: t.string(),
    idempotencyKey: t.string(),
  }),
});
