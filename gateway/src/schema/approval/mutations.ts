import { answerQuestion } from "../../use-cases/approvals/answer.ts";
import { decideApproval } from "../../use-cases/approvals/decide.ts";
import type { DecisionResult } from "../../use-cases/approvals/decide-chunk.ts";
import { decideApprovals } from "../../use-cases/approvals/decide-many.ts";
import { builder } from "../builder.ts";
import { DecisionType } from "./enums.ts";
import { ApprovalFilterType, DecideApprovalInputType } from "./inputs.ts";
import { ApprovalType } from "./refs.ts";

const DecideApprovalResultType = builder.objectRef<DecisionResult>("DecideApprovalResult").implement({
  fields: (t) => ({
    id: t.exposeID("id"),
    approval: t.expose("approval", { type: ApprovalType, nullable: true }),
    errorCode: t.string({ nullable: true, resolve: ({ fault }) => fault?.code ?? null }),
    message: t.string({ nullable: true, resolve: ({ fault }) => fault?.message ?? null }),
  }),
});

builder.mutationFields((t) => ({
  decideApproval: t.field({
    type: ApprovalType,
    scope: "approve",
    args: { input: t.arg({ type: DecideApprovalInputType, required: true }) },
    resolve: (_, { input }, { app, caller }) => decideApproval(app, caller, input),
  }),
  decideApprovals: t.field({
    type: [DecideApprovalResultType],
    scope: "approve",
    description: "Many at once: the given ones, or all pending ones that the filter matches.",
    args: {
      inputs: t.arg({ type: [DecideApprovalInputType] }),
      filter: t.arg({ type: ApprovalFilterType }),
      decision: t.arg({ type: DecisionType }),
      reason: t.arg.string(),
    },
    resolve: (_, args, { app, caller }) => decideApprovals(app, caller, args),
  }),
  answerQuestion: t.field({
    type: ApprovalType,
    scope: "approve",
    description:
      "For QUESTION, and for UNKNOWN_OUTCOME with {outcome: 'happened', result}, {outcome: 'did_not'} or {outcome: 'fail'}. An answered approval is APPROVED.",
    args: { approvalId: t.arg.id({ required: true }), answer: t.arg({ type: "JSON", required: true }) },
    resolve: (_, args, { app, caller }) => answerQuestion(app, caller, args),
  }),
}));
