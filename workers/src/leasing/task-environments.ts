import {
  type ClaimedTask,
  type Database,
  environmentOfTask,
  noteEnvironment,
  type TaskEnvironment,
} from "@airlock/shared/db";
import {
  DEFAULT_SANDBOX_LIMITS,
  type EnvironmentDefinition,
  type LeasePolicy,
  type SandboxLimits,
  type TaskFailure,
} from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import { untilDone } from "../runner/retry.ts";
import type { IsolationReport, SandboxProvider } from "../sandboxes/port.ts";
import { createProver } from "./prover.ts";

/** What an environment asks of a sandbox. */
export interface SandboxPlan {
  /** Null: a built-in one. */
  readonly definition: EnvironmentDefinition | null;
  readonly environmentId: string | null;
  readonly revision: number | null;
  /** As the provider's schema parsed it. */
  readonly config: unknown;
  readonly limits: SandboxLimits;
  /** Of the guest; null: as much as the worker gives. */
  readonly memoryBytes: number | null;
  readonly policy: LeasePolicy;
  readonly retainMs: number;
}

export type Planned =
  | { readonly kind: "planned"; readonly plan: SandboxPlan }
  | { readonly kind: "failed"; readonly failure: TaskFailure }
  /** Somebody else owns the task now. */
  | { readonly kind: "fenced" };

/** A plan and what was proved of it, where its configuration was measured by itself. */
export type Proved =
  | { readonly ok: true; readonly plan: SandboxPlan; readonly isolation: IsolationReport | null }
  | { readonly ok: false; readonly reason: string };

export interface TaskEnvironments {
  /** Pins the revision of a task that begins. A built-in environment costs no question. */
  planFor(provider: SandboxProvider, task: ClaimedTask): Promise<Planned> | Planned;
  prove(provider: SandboxProvider, definition: EnvironmentDefinition): Promise<Proved>;
}

export function createTaskEnvironments({ db, log }: { db: Database; log: Logger }): TaskEnvironments {
  const prover = createProver();
  const builtIn = new Map<SandboxProvider, Planned>();

  /** What was refused is measured again: the machine may be another by then. */
  async function planBuiltIn(provider: SandboxProvider): Promise<Planned> {
    const planned = builtInPlan(provider);
    const proof =
      planned.kind === "planned" ? await prover.prove(provider, planned.plan.config, planned.plan.limits) : null;
    if (proof !== null && !proof.available) {
      const message = `the environment "${provider.name}" cannot be used: ${proof.reason}`;
      return { kind: "failed", failure: { code: "ISOLATION_UNAVAILABLE", message } };
    }
    builtIn.set(provider, planned);
    return planned;
  }

  async function prove(provider: SandboxProvider, definition: EnvironmentDefinition): Promise<Proved> {
    const parsed = provider.config.safeParse(definition.config);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const at = ["config", ...(issue?.path ?? [])].join(".");
      return { ok: false, reason: `this worker's provider "${provider.name}" refuses it: ${at}: ${issue?.message}` };
    }
    const limits = { ...DEFAULT_SANDBOX_LIMITS, ...definition.limits };
    const proof = await prover.prove(provider, parsed.data, limits);
    if (proof !== null && !proof.available) return { ok: false, reason: proof.reason };
    const plan: SandboxPlan = {
      definition,
      environmentId: null,
      revision: null,
      config: parsed.data,
      limits,
      memoryBytes: definition.limits.memoryBytes ?? null,
      policy: definition.leasePolicy,
      retainMs: definition.retainMs,
    };
    return { ok: true, plan, isolation: proof?.isolation ?? null };
  }

  async function planOwn(provider: SandboxProvider, task: ClaimedTask): Promise<Planned> {
    const onFailure = (error: unknown) => log.warn({ err: error, task: task.id }, "an environment is not known yet");
    const environment = await untilDone(() => environmentOfTask(db, task.id), onFailure);
    const failure = faultOf(environment, task);
    if (failure !== null || environment === null) return { kind: "failed", failure: failure as TaskFailure };
    const { id, revision, definition } = environment;
    const proved = await prove(provider, definition);
    if (!proved.ok) {
      const message = `the environment "${environment.name}" cannot be used: ${proved.reason}`;
      return { kind: "failed", failure: { code: "PROBE_FAILED", message } };
    }
    if (!environment.pinned || proved.isolation !== null) {
      const note = { taskId: task.id, fence: task.segments, revision, isolation: proved.isolation };
      if (!(await untilDone(() => noteEnvironment(db, note), onFailure))) return { kind: "fenced" };
    }
    return { kind: "planned", plan: { ...proved.plan, environmentId: id, revision } };
  }

  return {
    prove,
    planFor(provider, task) {
      if (task.environment_id !== null) return planOwn(provider, task);
      return builtIn.get(provider) ?? planBuiltIn(provider);
    },
  };
}

/** A task that began runs on, whatever became of its environment; one that did not needs it as it is now. */
function faultOf(
  environment: TaskEnvironment | null,
  { environment: name, language }: ClaimedTask,
): TaskFailure | null {
  if (environment === null) {
    return { code: "ENVIRONMENT_NOT_FOUND", message: `the environment "${name}" is gone` };
  }
  if (environment.pinned) return null;
  if (!environment.active) {
    return { code: "ENVIRONMENT_INACTIVE", message: `the environment "${name}" was deactivated before the task ran` };
  }
  const { languages } = environment.definition;
  if (languages.includes(language)) return null;
  const message = `the environment "${name}" does not run ${language} any more; it runs: ${languages.join(", ")}`;
  return { code: "UNSUPPORTED_ENVIRONMENT", message };
}

function builtInPlan(provider: SandboxProvider): Planned {
  const parsed = provider.config.safeParse({});
  if (!parsed.success) {
    const message = `the provider "${provider.name}" needs a configuration; create an environment`;
    return { kind: "failed", failure: { code: "PROBE_FAILED", message } };
  }
  const plan: SandboxPlan = {
    definition: null,
    environmentId: null,
    revision: null,
    config: parsed.data,
    limits: DEFAULT_SANDBOX_LIMITS,
    memoryBytes: null,
    policy: "EPHEMERAL",
    retainMs: 0,
  };
  return { kind: "planned", plan };
}
