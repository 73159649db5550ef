import type { ProjectRow } from "@airlock/shared/db";
import { DEFAULT_ENVIRONMENT } from "@airlock/shared/domain";
import { createProject } from "../../use-cases/keys.ts";
import { setProjectRetention } from "../../use-cases/retention.ts";
import { builder } from "../builder.ts";

export const ProjectType = builder.objectRef<ProjectRow>("Project").implement({
  fields: (t) => ({
    id: t.exposeID("id"),
    name: t.exposeString("name"),
    retentionDays: t.exposeInt("retention_days", {
      nullable: true,
      description: "Ended tasks are deleted when they are this old; null: never.",
    }),
    defaultEnvironment: t.string({
      description: "What tasks get that name no environment, in sessions that have none.",
      resolve: (project) => project.default_environment ?? DEFAULT_ENVIRONMENT,
    }),
  }),
});

builder.mutationFields((t) => ({
  createProject: t.field({
    type: ProjectType,
    scope: "admin",
    args: {
      name: t.arg.string({ required: true }),
      selfApproval: t.arg.boolean({ description: "A key may decide on tasks that it submitted itself (false)." }),
    },
    resolve: (_, args, { app, caller }) => createProject(app, caller, args),
  }),
  setRetention: t.field({
    type: ProjectType,
    scope: "admin",
    description: "For the caller's project: ended tasks are deleted when they are this many days old; null: never.",
    args: { days: t.arg.int() },
    resolve: (_, { days }, { app, caller }) => setProjectRetention(app, caller, days ?? null),
  }),
}));
