import type { ApiKeyRow } from "@airlock/shared/db";
import { createApiKey, revokeApiKey } from "../../use-cases/keys.ts";
import { builder } from "../builder.ts";

const ApiKeyType = builder.objectRef<ApiKeyRow & { secret?: string }>("ApiKey").implement({
  description: "`secret` is shown once, when the key is made.",
  fields: (t) => ({
    id: t.exposeID("id"),
    name: t.exposeString("name"),
    scopes: t.exposeStringList("scopes"),
    createdAt: t.expose("created_at", { type: "DateTime" }),
    revokedAt: t.expose("revoked_at", { type: "DateTime", nullable: true }),
    secret: t.string({ nullable: true, resolve: (key) => key.secret ?? null }),
  }),
});

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: ApiKeyType,
    scope: "admin",
    description: "Scopes: submit, read, approve, admin.",
    args: {
      projectId: t.arg.id(),
      name: t.arg.string({ required: true }),
      scopes: t.arg.stringList({ required: true }),
    },
    resolve: (_, args, { app, caller }) => createApiKey(app, caller, args),
  }),
  revokeApiKey: t.field({
    type: ApiKeyType,
    scope: "admin",
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, { app, caller }) => revokeApiKey(app, caller, id),
  }),
}));
