import { createHash } from "node:crypto";
import { type Database, type FunctionRow, functionEnvironment } from "@airlock/shared/db";
import {
  assertNever,
  builtInDefinition,
  DEFAULT_GUEST_LIMITS,
  type EnvironmentDefinition,
} from "@airlock/shared/domain";
import { type SandboxPlan, type TaskEnvironments } from "../leasing/task-environments.ts";
import { JUST_OVER, NoSandbox, type Sandbox, type SandboxParts, takeSandbox } from "../leasing/sandbox.ts";
import type { GuestChannel, GuestOutcome, RunningGuest, SandboxProvider } from "../sandboxes/port.ts";
import type { ToolContext } from "../tools/tool.ts";
import { ToolError } from "../tools/tool-error.ts";

/** What a function needs to run in a sandbox of its own. */
export interface FunctionRunner extends SandboxParts {
  readonly db: Database;
  readonly environments: TaskEnvironments;
  readonly providers: readonly SandboxProvider[];
}

/** Runs a function's program in a lease of its own. What it returns is the call's result; a failure is a ToolError. */
export async function runFunction(
  runner: FunctionRunner,
  row: FunctionRow,
  context: ToolContext,
  input: unknown,
): Promise<unknown> {
  const { provider, plan } = await planFor(runner, row);
  const sandbox = await sandboxFor(runner, provider, { row, plan, taskId: context.taskId });
  try {
    return answerOf(row, await runIn(sandbox, row, context, { input, plan }));
  } finally {
    await sandbox.finish(JUST_OVER);
  }
}

async function planFor(
  { db, environments, providers }: FunctionRunner,
  { project_id, path, environment }: FunctionRow,
): Promise<{ provider: SandboxProvider; plan: SandboxPlan }> {
  const definition: EnvironmentDefinition | null =
    (await functionEnvironment(db, project_id, environment)) ?? builtInDefinition(environment);
  if (definition === null) throw refused(path, `its environment "${environment}" is gone or inactive`);
  if (preparesWork(definition)) {
    throw refused(path, `its environment "${environment}" prepares a work area, which functions do not have`);
  }
  const provider = providers.find(({ name }) => name === definition.provider);
  if (!provider) throw refused(path, `this worker has no provider "${definition.provider}"`);
  const proved = await environments.prove(provider, definition);
  if (!proved.ok) throw refused(path, `its environment "${environment}" cannot be used: ${proved.reason}`);
  return { provider, plan: proved.plan };
}

/** Without what it counts on, its program would fail later and say less. */
function preparesWork({ repository, provision, dependencies }: EnvironmentDefinition): boolean {
  return repository !== null || provision !== null || Object.keys(dependencies).length > 0;
}

async function sandboxFor(
  runner: FunctionRunner,
  provider: SandboxProvider,
  { row, plan, taskId }: { row: FunctionRow; plan: SandboxPlan; taskId: string },
): Promise<Sandbox> {
  const { config, limits, pin } = plan;
  try {
    return await takeSandbox(runner, provider, {
      taskId,
      fence: 0,
      environment: row.environment,
      environmentId: null,
      revision: null,
      policy: "EPHEMERAL",
      retainMs: 0,
      session: null,
      request: { projectId: row.project_id, language: row.language, config, pin, limits, files: [], layers: [] },
    });
  } catch (error) {
    if (error instanceof NoSandbox) throw refused(row.path, `no sandbox could be had: ${error.message}`);
    throw error;
  }
}

function runIn(
  { lease }: Sandbox,
  { path, code, language, timeout_ms }: FunctionRow,
  { idempotencyKey, signal, log }: ToolContext,
  { input, plan }: { input: unknown; plan: SandboxPlan },
): Promise<GuestOutcome> {
  const started = Promise.withResolvers<RunningGuest>();
  const channel: GuestChannel = {
    output: (stream, text) => log.info({ function: path, stream, text: text.slice(0, 4_096) }, "a function printed"),
    dropped: () => undefined,
    // Nothing stands behind it: its calls would be nobody's, neither the task's nor a person's to decide on.
    call: ({ id, at }) => {
      const result = { ok: false, code: "TOOL_DENIED", message: "a function has no tools of its own" } as const;
      void started.promise.then((guest) => guest.settle({ id, at, result, meta: {} }));
    },
    idle: () => undefined,
  };
  const guest = lease.start(
    {
      language,
      code,
      input: JSON.stringify(input),
      // The same in each run of this call.
      seed: createHash("sha256").update(idempotencyKey).digest("hex").slice(0, 32),
      clockStart: Date.now(),
      kept: null,
      live: true,
      limits: {
        ...DEFAULT_GUEST_LIMITS,
        timeoutMs: timeout_ms,
        ...(plan.memoryBytes !== null && { memoryBytes: plan.memoryBytes }),
      },
    },
    channel,
    signal,
  );
  started.resolve(guest);
  return guest.outcome;
}

function answerOf({ path, timeout_ms }: FunctionRow, outcome: GuestOutcome): unknown {
  switch (outcome.kind) {
    case "returned":
      return outcome.output === null ? undefined : JSON.parse(outcome.output);
    case "failed": {
      const { code, message } = outcome.failure;
      if (code === "TIMEOUT") throw new ToolError(`${path} took longer than its ${timeout_ms} ms`, "TOOL_TIMEOUT");
      throw new ToolError(`${path} failed: ${message} (${code})`);
    }
    case "cancelled":
      throw new ToolError(`${path} was stopped with its task`);
    case "lost":
      throw new ToolError(`${path} lost its sandbox: ${outcome.reason}`);
    case "parked":
      throw new ToolError(`${path} waits for ever`);
    default:
      return assertNever(outcome);
  }
}

function refused(path: string, why: string): ToolError {
  return new ToolError(`${path}: ${why}`);
}
