import { listProviders, type ProviderRow } from "@airlock/shared/db";
import { builder } from "../builder.ts";
import { LanguageType } from "../task/enums.ts";
import { IsolationReportType, readIsolation } from "../task/isolation.ts";

const ProviderType = builder.objectRef<ProviderRow>("Provider").implement({
  description: "The code behind a kind of environment, as the workers have it.",
  fields: (t) => ({
    name: t.exposeString("name"),
    available: t.boolean({
      description: "Whether a live worker has proved it.",
      resolve: ({ workers }) => workers.length > 0,
    }),
    reason: t.string({
      nullable: true,
      description: "Why it is not available: what the live workers found.",
      resolve: ({ reasons, workers }) =>
        workers.length > 0 ? null : reasons.join("; ") || "no live worker has told of it",
    }),
    workers: t.exposeStringList("workers", { description: "The live workers that proved it, by id." }),
    isolation: t.field({
      type: IsolationReportType,
      nullable: true,
      description: "What the newest of them proved.",
      resolve: ({ isolation }) => readIsolation(isolation),
    }),
    languages: t.field({ type: [LanguageType], resolve: ({ capabilities }) => [...capabilities.languages] }),
    keptBy: t.string({
      description: "How a parked task is kept: snapshot or replay.",
      resolve: ({ capabilities }) => capabilities.keptBy,
    }),
    workArea: t.boolean({
      description: "Whether programs have files, dependencies and a repository.",
      resolve: ({ capabilities }) => capabilities.workArea,
    }),
    retains: t.boolean({
      description: "Whether a failed task's sandbox can be kept.",
      resolve: ({ capabilities }) => capabilities.retains,
    }),
    reuses: t.boolean({
      description: "Whether a session's sandbox can be used again (REUSE_BY_SESSION).",
      resolve: ({ capabilities }) => capabilities.reuses ?? false,
    }),
    configSchema: t.field({
      type: "JSON",
      description: "JSON Schema of an environment's `config`.",
      resolve: ({ configSchema }) => JSON.parse(configSchema),
    }),
  }),
});

builder.queryFields((t) => ({
  providers: t.field({
    type: [ProviderType],
    scope: "read",
    description: "Those that a worker of the last day has told of, by name.",
    resolve: (_, _args, { app }) => listProviders(app.db),
  }),
}));
