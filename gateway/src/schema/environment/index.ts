import { createEnvironment, deactivateEnvironment, updateEnvironment } from "../../use-cases/environments/change.ts";
import { setDefaultEnvironment, setSessionEnvironment } from "../../use-cases/environments/defaults.ts";
import { probeEnvironment, type Probed } from "../../use-cases/environments/probe.ts";
import { findEnvironmentView, listEnvironmentViews, viewOfChanged } from "../../use-cases/environments/view.ts";
import { builder } from "../builder.ts";
import { ProjectType } from "../project/index.ts";
import { IsolationReportType } from "../task/isolation.ts";
import { EnvironmentType } from "./environment.ts";
import { CreateEnvironmentInput, UpdateEnvironmentInput } from "./inputs.ts";

type Isolation = typeof IsolationReportType.$inferType;

const ProbeType = builder.objectRef<Probed>("EnvironmentProbe").implement({
  description: "What a live worker found out by making a sandbox and running a program in it.",
  fields: (t) => ({
    available: t.exposeBoolean("available"),
    reason: t.exposeString("reason", { nullable: true, description: "Why it is not available." }),
    isolation: t.field({
      type: IsolationReportType,
      nullable: true,
      resolve: ({ isolation }) => isolation as Isolation | null,
    }),
    workerId: t.exposeID("workerId", { nullable: true, description: "The worker that answered." }),
  }),
});

builder.queryFields((t) => ({
  environments: t.field({
    type: [EnvironmentType],
    scope: "read",
    description: "The built-in ones first, then the project's own by name.",
    resolve: (_, _args, { app, caller }) => listEnvironmentViews(app, caller),
  }),
  environment: t.field({
    type: EnvironmentType,
    nullable: true,
    scope: "read",
    args: { name: t.arg.string({ required: true }) },
    resolve: (_, { name }, { app, caller }) => findEnvironmentView(app, caller, name),
  }),
}));

builder.mutationFields((t) => ({
  createEnvironment: t.field({
    type: EnvironmentType,
    scope: "admin",
    args: { input: t.arg({ type: CreateEnvironmentInput, required: true }) },
    resolve: async (_, { input }, { app, caller }) =>
      viewOfChanged(app, caller, await createEnvironment(app, caller, input)),
  }),
  updateEnvironment: t.field({
    type: EnvironmentType,
    scope: "admin",
    description: "A new revision. Tasks that have begun keep the one that they began with.",
    args: {
      name: t.arg.string({ required: true }),
      input: t.arg({ type: UpdateEnvironmentInput, required: true }),
    },
    resolve: async (_, { name, input }, { app, caller }) =>
      viewOfChanged(app, caller, await updateEnvironment(app, caller, name, input)),
  }),
  deactivateEnvironment: t.field({
    type: EnvironmentType,
    scope: "admin",
    description: "It takes no more tasks; those that wait and never ran end as ENVIRONMENT_INACTIVE, others run on.",
    args: { name: t.arg.string({ required: true }) },
    resolve: async (_, { name }, { app, caller }) =>
      viewOfChanged(app, caller, await deactivateEnvironment(app, caller, name)),
  }),
  probeEnvironment: t.field({
    type: ProbeType,
    scope: "admin",
    description: "Has a live worker make a sandbox of this environment; waits for the answer, at most a minute.",
    args: { name: t.arg.string({ required: true }) },
    resolve: (_, { name }, { app, caller }) => probeEnvironment(app, caller, name),
  }),
  setDefaultEnvironment: t.field({
    type: ProjectType,
    scope: "admin",
    description: "For the project's tasks that name none, in sessions that have none; null: `isolate`.",
    args: { name: t.arg.string() },
    resolve: (_, { name }, { app, caller }) => setDefaultEnvironment(app, caller, name ?? null),
  }),
  setSessionEnvironment: t.field({
    type: EnvironmentType,
    scope: "admin",
    description: "For a session's tasks that name none; null: the project's default. Answers what they get now.",
    args: { session: t.arg.string({ required: true }), name: t.arg.string() },
    resolve: (_, { session, name }, { app, caller }) =>
      setSessionEnvironment(app, caller, { session, name: name ?? null }),
  }),
}));
