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
import { type IsolationReport, LeaseError, type SandboxProvider } from "../sandboxes/port.ts";
import { createProver } from "./prover.ts";
import { NoSandbox } from "./sandbox.ts";

/** What an environment asks of a sandbox. */
export interface SandboxPlan {
  /** Null: a built-in one. */
  readonly definition: EnvironmentDefinition | null;
  readonly environmentId: string | null;
  readonly revision: number | null;
  /** As the provider's schema parsed it. */
  readonly config: unknown;
  /** What the configuration stands for in every run of the task; null: nothing that can change. */
  readonly pin: string | null;
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
  /**
   * Pins the revision of a task that begins, and what its configuration stands for. A built-in environment costs no
   * question, unless it can come to stand for something else. Rejects with `NoSandbox` where that cannot be told now.
   */
  planFor(provider: SandboxProvider, task: ClaimedTask): Promise<Planned> | Planned;
  prove(provider: SandboxProvider, definition: EnvironmentDefinition): Promise<Proved>;
}

interface Configuration {
  readonly config: unknown;
  readonly limits: SandboxLimits;
}

export function createTaskEnvironments({ db, log }: { db: Database; log: Logger }): TaskEnvironments {
  const prover = createProver();
  const builtIn = new Map<SandboxProvider, Planned>();

  async function measure(provider: SandboxProvider, { config, limits }: Configuration, pinned: string | null) {
    try {
      const pin = pinned ?? (await provider.pin?.(config)) ?? null;
      const proof = await prover.prove(provider, config, limits, pin);
      if (proof !== null && !proof.available) return { ok: false, reason: proof.reason, code: null } as const;
      return { ok: true, pin, isolation: proof?.isolation ?? null } as const;
    } catch (error) {
      if (error instanceof LeaseError && error.code === null) throw new NoSandbox(error);
      const code = error instanceof LeaseError ? error.code : null;
      return { ok: false, reason: error instanceof Error ? error.message : String(error), code } as const;
    }
  }

  async function prove(
    provider: SandboxProvider,
    definition: EnvironmentDefinition,
    pinned: string | null = null,
  ): Promise<Proved> {
    const parsed = provider.config.safeParse(definition.config);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const at = ["config", ...(issue?.path ?? [])].join(".");
      return { ok: false, reason: `this worker's provider "${provider.name}" refuses it: ${at}: ${issue?.message}` };
    }
    const limits = { ...DEFAULT_SANDBOX_LIMITS, ...definition.limits };
    const measured = await measure(provider, { config: parsed.data, limits }, pinned);
    if (!measured.ok) return measured;
    const plan: SandboxPlan = {
      definition,
      environmentId: null,
      revision: null,
      config: parsed.data,
      pin: measured.pin,
      limits,
      memoryBytes: definition.limits.memoryBytes ?? null,
      policy: definition.leasePolicy,
      retainMs: definition.retainMs,
    };
    return { ok: true, plan, isolation: measured.isolation };
  }

  async function planOwn(provider: SandboxProvider, task: ClaimedTask): Promise<Planned> {
    const onFailure = (error: unknown) => log.warn({ err: error, task: task.id }, "an environment is not known yet");
    const environment = await untilDone(() => environmentOfTask(db, task.id), onFailure);
    const failure = faultOf(environment, task);
    if (failure !== null || environment === null) return { kind: "failed", failure: failure as TaskFailure };
    const { id, revision, definition } = environment;
    const proved = await prove(provider, definition, task.sandbox_pin);
    if (!proved.ok) return unusable(environment.name, proved.reason, "PROBE_FAILED");
    const plan = { ...proved.plan, environmentId: id, revision };
    const known = environment.pinned && proved.isolation === null && plan.pin === task.sandbox_pin;
    return known ? { kind: "planned", plan } : note(task, plan, proved.isolation);
  }

  /** Asked again where it was refused (the machine may be another by then), and where its words may change their meaning. */
  async function planBuiltIn(provider: SandboxProvider, task: ClaimedTask): Promise<Planned> {
    const built = builtInPlan(provider);
    if (built.kind !== "planned") return built;
    const measured = await measure(provider, built.plan, task.sandbox_pin);
    if (!measured.ok) return unusable(task.environment, measured.reason, measured.code ?? "ISOLATION_UNAVAILABLE");
    if (provider.pin) return note(task, { ...built.plan, pin: measured.pin }, measured.isolation);
    builtIn.set(provider, built);
    return built;
  }

  async function note(task: ClaimedTask, plan: SandboxPlan, isolation: IsolationReport | null): Promise<Planned> {
    const { revision, pin } = plan;
    const found = { taskId: task.id, fence: task.segments, revision, isolation, pin };
    const held = await untilDone(
      () => noteEnvironment(db, found),
      (error: unknown) => log.warn({ err: error, task: task.id }, "an environment is not noted yet"),
    );
    return held ? { kind: "planned", plan } : { kind: "fenced" };
  }

  return {
    prove: (provider, definition) =>
      prove(provider, definition).catch((error: unknown) => {
        if (error instanceof NoSandbox) return { ok: false, reason: error.message };
        throw error;
      }),
    planFor(provider, task) {
      if (task.environment_id !== null) return planOwn(provider, task);
      return builtIn.get(provider) ?? planBuiltIn(provider, task);
    },
  };
}

function unusable(environment: string, reason: string, code: TaskFailure["code"]): Planned {
  return { kind: "failed", failure: { code, message: `the environment "${environment}" cannot be used: ${reason}` } };
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
    pin: null,
    limits: DEFAULT_SANDBOX_LIMITS,
    memoryBytes: null,
    policy: "EPHEMERAL",
    retainMs: 0,
  };
  return { kind: "planned", plan };
}
