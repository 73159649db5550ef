import { builder } from "../builder.ts";
import { DecisionType, RememberScopeType } from "./enums.ts";

export const DecideApprovalInputType = builder.inputType("DecideApprovalInput", {
  fields: (t) => ({
    id: t.id({ required: true }),
    decision: t.field({ type: DecisionType, required: true }),
    inputHash: t.string({
      required: true,
      description: "The hash of the input that the approver saw. A mismatch is refused as CONFLICT.",
    }),
    reason: t.string(),
    editedInput: t.field({
      type: "JSON",
      description: "Runs the call with this input in place of the asked one. Checked against the tool's schema.",
    }),
    remember: t.field({
      type: RememberScopeType,
      description:
        "Adds a policy so that the same tool with the same input is not asked about again in this scope (PROJECT needs the scope admin).",
    }),
    rememberAnyInput: t.boolean({ description: "With `remember`: whatever the input." }),
  }),
});

export const ApprovalFilterType = builder.inputType("ApprovalFilter", {
  fields: (t) => ({ batch: t.id(), toolPath: t.string(), inputHash: t.string() }),
});
