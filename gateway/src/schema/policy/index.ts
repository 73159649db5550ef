import { listPolicies, type PolicyRow } from "@airlock/shared/db";
import { removeToolPolicy, setToolPolicy } from "../../use-cases/tool-policies.ts";
import { RememberScopeType } from "../approval/enums.ts";
import { builder } from "../builder.ts";
import { PolicyModeType } from "./enums.ts";

const ToolPolicyType = builder.objectRef<PolicyRow>("ToolPolicy").implement({
  fields: (t) => ({
    id: t.exposeID("id"),
    pattern: t.exposeString("pattern"),
    mode: t.expose("mode", { type: PolicyModeType }),
    scope: t.expose("scope", { type: RememberScopeType }),
    scopeId: t.exposeString("scope_id", {
      nullable: true,
      description: "The task or session that it holds for; null: the whole project.",
    }),
    inputHash: t.string({
      nullable: true,
      description: "Holds only for calls with this hash; null: whatever the input.",
      resolve: (policy) => policy.input_hash?.toString("hex") ?? null,
    }),
    expiresAt: t.expose("expires_at", { type: "DateTime", nullable: true }),
    approvalMs: t.exposeInt("approval_ms", {
      nullable: true,
      description: "How long a person has to decide on the calls that it holds; null: as long as the tool says.",
    }),
    source: t.string({
      description: "API, or CONFIG: set in airlock.config.ts, and not changed by the API.",
      resolve: (policy) => policy.source,
    }),
    createdBy: t.exposeString("created_by", { nullable: true, description: "The name of the API key." }),
  }),
});

builder.queryFields((t) => ({
  toolPolicies: t.field({
    type: [ToolPolicyType],
    scope: "read",
    description: "Those that hold now, the oldest first; remembered decisions included.",
    resolve: (_, _args, { app, caller }) => listPolicies(app.db, caller.projectId),
  }),
}));

builder.mutationFields((t) => ({
  setToolPolicy: t.field({
    type: ToolPolicyType,
    scope: "admin",
    description: "The project's rule for a pattern: setting it again replaces it. Calls that wait are judged anew.",
    args: {
      pattern: t.arg.string({ required: true }),
      mode: t.arg({ type: PolicyModeType, required: true }),
      expiresAt: t.arg({ type: "DateTime" }),
      approvalMs: t.arg.int({ description: "How long a person has to decide on the calls that it holds." }),
    },
    resolve: (_, args, { app, caller }) => setToolPolicy(app, caller, args),
  }),
  removeToolPolicy: t.field({
    type: "Boolean",
    scope: "admin",
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, { app, caller }) => removeToolPolicy(app, caller, id),
  }),
}));
