import { builder } from "../builder.ts";
import { LeasePolicyType } from "../lease/lease.ts";
import { LanguageType } from "../task/enums.ts";
import { NetworkPolicyType } from "./environment.ts";

const LimitsInput = builder.inputType("SandboxLimitsInput", {
  fields: (t) => ({
    memoryBytes: t.float(),
    pids: t.int({ description: "Processes and threads." }),
    cpus: t.float({ description: "0.5 is half of one." }),
    diskBytes: t.float({ description: "Of the work area." }),
    files: t.int({ description: "In the work area." }),
  }),
});

const RepositoryInput = builder.inputType("RepositoryInput", {
  fields: (t) => ({
    url: t.string({ required: true }),
    ref: t.string({ description: "A branch, a tag or a commit (HEAD)." }),
    credential: t.string({ description: "The name of a worker's secret; never the secret itself." }),
  }),
});

export const CreateEnvironmentInput = builder.inputType("CreateEnvironmentInput", {
  fields: (t) => ({
    name: t.string({ required: true, description: "Lower case; the query `providers` lists what it can stand on." }),
    provider: t.string({ required: true, description: "Never changes." }),
    config: t.field({ type: "JSON", description: "Checked against the provider's `configSchema`." }),
    limits: t.field({ type: LimitsInput }),
    provision: t.string({ description: "A shell command that prepares the work area." }),
    repository: t.field({ type: RepositoryInput, description: "Cloned into the work area." }),
    dependencies: t.field({ type: "JSON", description: "npm package name -> range." }),
    leasePolicy: t.field({ type: LeasePolicyType, description: "EPHEMERAL where absent." }),
    retainMs: t.int({
      description: "How long RETAIN_ON_FAILURE keeps a sandbox, and REUSE_BY_SESSION one that nobody uses (an hour).",
    }),
    languages: t.field({ type: [LanguageType], description: "Absent: all that the provider runs." }),
    network: t.field({ type: NetworkPolicyType, description: "NONE where absent." }),
  }),
});

export const UpdateEnvironmentInput = builder.inputType("UpdateEnvironmentInput", {
  description: "What is absent stays as it is; null sets the default.",
  fields: (t) => ({
    active: t.boolean({ description: "True takes tasks again." }),
    config: t.field({ type: "JSON" }),
    limits: t.field({ type: LimitsInput }),
    provision: t.string(),
    repository: t.field({ type: RepositoryInput }),
    dependencies: t.field({ type: "JSON" }),
    leasePolicy: t.field({ type: LeasePolicyType }),
    retainMs: t.int(),
    languages: t.field({ type: [LanguageType] }),
    network: t.field({ type: NetworkPolicyType }),
  }),
});
