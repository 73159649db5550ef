import { ENVIRONMENT_SOURCES, NETWORK_POLICIES, type SandboxLimits } from "@airlock/shared/domain";
import type { EnvironmentView } from "../../use-cases/environments/view.ts";
import { builder } from "../builder.ts";
import { LeasePolicyType } from "../lease/lease.ts";
import { LanguageType } from "../task/enums.ts";

const SourceType = builder.enumType("EnvironmentSource", {
  description: "CONFIG: defined in airlock.config.ts; the API does not change it.",
  values: ENVIRONMENT_SOURCES,
});
export const NetworkPolicyType = builder.enumType("NetworkPolicy", {
  description: "NONE: tools are the only way out.",
  values: NETWORK_POLICIES,
});

const LimitsType = builder.objectRef<Partial<SandboxLimits>>("SandboxLimits").implement({
  description: "What one sandbox may use; null: Airlock's default.",
  fields: (t) => ({
    memoryBytes: t.float({ nullable: true, resolve: ({ memoryBytes }) => memoryBytes ?? null }),
    pids: t.int({ nullable: true, resolve: ({ pids }) => pids ?? null }),
    cpus: t.float({ nullable: true, resolve: ({ cpus }) => cpus ?? null }),
    diskBytes: t.float({ nullable: true, resolve: ({ diskBytes }) => diskBytes ?? null }),
    files: t.int({ nullable: true, resolve: ({ files }) => files ?? null }),
  }),
});

const RepositoryType = builder
  .objectRef<NonNullable<EnvironmentView["definition"]["repository"]>>("Repository")
  .implement({
    fields: (t) => ({
      url: t.exposeString("url"),
      ref: t.exposeString("ref"),
      credential: t.exposeString("credential", { nullable: true, description: "The name of a worker's secret." }),
    }),
  });

export const EnvironmentType = builder.objectRef<EnvironmentView>("Environment").implement({
  description: "A named sandbox configuration.",
  fields: (t) => ({
    name: t.exposeString("name"),
    source: t.expose("source", { type: SourceType }),
    active: t.exposeBoolean("active", { description: "If not, it takes no tasks." }),
    isDefault: t.exposeBoolean("isDefault", { description: "For the project's tasks that name none." }),
    revision: t.exposeInt("revision", {
      nullable: true,
      description: "Raised by each change; a task keeps the one that it began with. Null: built in.",
    }),
    updatedAt: t.expose("updatedAt", { type: "DateTime", nullable: true }),
    provider: t.string({ resolve: ({ definition }) => definition.provider }),
    config: t.field({ type: "JSON", resolve: ({ definition }) => definition.config }),
    limits: t.field({ type: LimitsType, resolve: ({ definition }) => definition.limits }),
    provision: t.string({
      nullable: true,
      description: "The shell command that prepares the work area.",
      resolve: ({ definition }) => definition.provision,
    }),
    repository: t.field({
      type: RepositoryType,
      nullable: true,
      resolve: ({ definition }) => definition.repository,
    }),
    dependencies: t.field({
      type: "JSON",
      description: "npm package name -> range.",
      resolve: ({ definition }) => definition.dependencies,
    }),
    leasePolicy: t.field({ type: LeasePolicyType, resolve: ({ definition }) => definition.leasePolicy }),
    retainMs: t.int({
      description: "How long RETAIN_ON_FAILURE keeps a sandbox.",
      resolve: ({ definition }) => definition.retainMs,
    }),
    languages: t.field({ type: [LanguageType], resolve: ({ definition }) => [...definition.languages] }),
    network: t.field({ type: NetworkPolicyType, resolve: ({ definition }) => definition.network }),
  }),
});
