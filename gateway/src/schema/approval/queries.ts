import { listApprovals } from "@airlock/shared/db";
import { APPROVAL_PAGE, fromCursor, listCost, pageSize, toPage } from "../../pagination.ts";
import { builder } from "../builder.ts";
import { ApprovalStatusType } from "./enums.ts";
import { ApprovalConnectionType, ApprovalType } from "./refs.ts";

builder.queryFields((t) => ({
  approvals: t.field({
    type: ApprovalConnectionType,
    scope: "read",
    description: "The newest first.",
    args: { status: t.arg({ type: ApprovalStatusType }), first: t.arg.int(), after: t.arg.string() },
    complexity: listCost(APPROVAL_PAGE),
    resolve: async (_, args, { app, caller }) => {
      const size = pageSize(args.first, APPROVAL_PAGE);
      const after = fromCursor("approval", args.after);
      const page = { status: args.status ?? null, limit: size + 1, after };
      return toPage(await listApprovals(app.db, caller.projectId, page), size, after);
    },
  }),
}));

builder.subscriptionFields((t) => ({
  approvalUpdates: t.field({
    type: ApprovalType,
    scope: "read",
    description: "First all that are pending, then each approval when it is asked for and when it is decided.",
    subscribe: (_, _args, { app, caller }) => app.live.approvals.follow(caller.projectId),
    resolve: (approval) => approval,
  }),
}));
