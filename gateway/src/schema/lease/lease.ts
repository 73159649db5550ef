import type { LeaseRow } from "@airlock/shared/db";
import { LEASE_POLICIES, LEASE_STATES } from "@airlock/shared/domain";
import { builder } from "../builder.ts";

export const LeaseStateType = builder.enumType("LeaseState", {
  description: "ACTIVE and RETAINED sandboxes exist; PENDING_CLEANUP ones may; the others are gone.",
  values: LEASE_STATES,
});
export const LeasePolicyType = builder.enumType("LeasePolicy", { values: LEASE_POLICIES });

export const LeaseType = builder.objectRef<LeaseRow>("Lease").implement({
  description: "One sandbox that was asked for.",
  fields: (t) => ({
    id: t.exposeID("id", { description: "The sandbox carries it, as a label or a name." }),
    taskId: t.exposeID("task_id", { nullable: true, description: "Null: made to probe an environment." }),
    segment: t.exposeInt("fence", { nullable: true }),
    environment: t.exposeString("environment"),
    environmentRevision: t.exposeInt("revision", { nullable: true }),
    provider: t.exposeString("provider"),
    workerId: t.exposeID("worker_id"),
    host: t.exposeString("host"),
    state: t.expose("state", { type: LeaseStateType }),
    policy: t.expose("policy", { type: LeasePolicyType }),
    createdAt: t.expose("created_at", { type: "DateTime" }),
    expiresAt: t.expose("expires_at", {
      type: "DateTime",
      nullable: true,
      description: "Until when a retained sandbox is kept.",
    }),
    endedAt: t.expose("ended_at", {
      type: "DateTime",
      nullable: true,
      description: "Since when the sandbox is known to be gone.",
    }),
    error: t.exposeString("error", { nullable: true }),
  }),
});
