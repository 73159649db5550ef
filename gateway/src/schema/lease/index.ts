import { listLeases } from "@airlock/shared/db";
import { LEASE_PAGE, listCost, pageSize } from "../../pagination.ts";
import { releaseLease } from "../../use-cases/release-lease.ts";
import { builder } from "../builder.ts";
import { LeaseStateType, LeaseType } from "./lease.ts";

builder.queryFields((t) => ({
  leases: t.field({
    type: [LeaseType],
    scope: "read",
    description: "The newest first; only of providers whose sandboxes can outlive their worker.",
    args: { state: t.arg({ type: [LeaseStateType] }), first: t.arg.int() },
    complexity: listCost(LEASE_PAGE),
    resolve: (_, { state, first }, { app, caller }) =>
      listLeases(app.db, caller.projectId, { states: state ?? null, limit: pageSize(first, LEASE_PAGE) }),
  }),
}));

builder.mutationFields((t) => ({
  releaseLease: t.field({
    type: LeaseType,
    scope: "admin",
    description:
      "Gives a RETAINED sandbox up: it is destroyed soon. One that is given up or gone comes back unchanged.",
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, { app, caller }) => releaseLease(app, caller, id),
  }),
}));
