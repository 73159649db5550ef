import { type ClaimedTask, type GiveBackReason, type TaskEnd, wasRolledBack } from "@airlock/shared/db";
import { newEvent } from "@airlock/shared/contracts";
import { assertNever, type TaskFailure } from "@airlock/shared/domain";
import type { Context } from "../context.ts";
import { Desk } from "../desk/desk.ts";
import { type Ending, JUST_OVER, NoSandbox, takeSandbox } from "../leasing/sandbox.ts";
import type { SandboxPlan } from "../leasing/task-environments.ts";
import type { Provided } from "../provisioning/index.ts";
import type { GuestChannel, GuestOutcome, GuestProgram, Layer, Lease, SandboxProvider } from "../sandboxes/port.ts";
import { collectOutputs } from "./collect.ts";
import { type Claimed, release, unmark } from "./give-back.ts";
import { createRecorder, type Recorder, Unrecorded } from "./recorder.ts";
import { untilDone } from "./retry.ts";
import type { RunningSegment, StopReason } from "./running-segments.ts";
import { readWorkspace, type Workspace, type WorkspaceRead } from "./workspace.ts";

/** A restored guest is started at the latest by then, whether there is an outcome for it or not: its timers go on. */
const RESTORE_PATIENCE_MS = 1_000;
const EAGER_SEGMENTS = 4;
/** A stopped segment waits this long for its started calls. */
const STOP_PATIENCE_MS = 5_000;

/** Failures that say nothing good about the sandbox. */
const NOT_ITS_OWN: ReadonlySet<string | undefined> = new Set([
  "OUT_OF_MEMORY",
  "REPLAY_DIVERGED",
  "SANDBOX_FAILED",
  "WORKSPACE_FAILED",
]);

/** One stretch of running: from the claim to the task's end, its parking, or giving it back. Never rejects. */
export async function runSegment(context: Context, provider: SandboxProvider, task: ClaimedTask): Promise<void> {
  const segment = context.running.add(task.id, task.segments);
  const log = context.log.child({ task: task.id, segment: task.segments });
  try {
    const planned = await context.environments.planFor(provider, task);
    switch (planned.kind) {
      case "fenced":
        return;
      case "failed":
        return await endUnrun(context, { task, segment }, planned.failure);
      case "planned":
        return await provide(context, provider, { task, segment, log, plan: planned.plan });
      default:
        assertNever(planned);
    }
  } catch (error) {
    if (error instanceof NoSandbox && error.failure !== null)
      return await endUnrun(context, { task, segment }, error.failure);
    if (error instanceof NoSandbox) return await release(context, { task, segment }, "no lease", error.message);
    log.error({ err: error }, "a segment failed; the task is given back");
    await release(context, { task, segment }, "sandbox lost");
  } finally {
    context.running.remove(segment);
  }
}

interface Run {
  readonly task: ClaimedTask;
  readonly segment: RunningSegment;
  readonly log: Context["log"];
  readonly plan: SandboxPlan;
}

/** For a guest without a work area. */
const NOTHING: WorkspaceRead = { kind: "read", workspace: { files: [], events: [] } };

async function provide(context: Context, provider: SandboxProvider, run: Run): Promise<void> {
  const provided = await context.provisioning.provide(provider, run.task, run.plan, run.segment.abort.signal);
  if (provided.kind !== "provided") return leaveUnrun(context, run, provided);
  try {
    await furnish(context, provider, run, provided.layers);
  } finally {
    provided.release();
  }
}

async function furnish(context: Context, provider: SandboxProvider, run: Run, layers: readonly Layer[]): Promise<void> {
  const found = provider.capabilities.workArea ? await readWorkspace(context, run.task) : NOTHING;
  switch (found.kind) {
    case "fenced":
      return;
    case "failed":
      return endUnrun(context, run, found.failure);
    case "read":
      return runIn(context, provider, run, found.workspace, layers);
    default:
      assertNever(found);
  }
}

async function runIn(
  context: Context,
  provider: SandboxProvider,
  run: Run,
  workspace: Workspace,
  layers: readonly Layer[],
): Promise<void> {
  const { task, plan } = run;
  const { environmentId, revision, policy, retainMs, config, pin, limits } = plan;
  const sandbox = await takeSandbox(context, provider, {
    taskId: task.id,
    fence: task.segments,
    environment: task.environment,
    environmentId,
    revision,
    policy,
    retainMs,
    // Who might run again must not find what it has left itself.
    session: policy === "REUSE_BY_SESSION" && !task.replayable ? task.session : null,
    request: {
      projectId: task.project_id,
      language: task.language,
      config,
      pin,
      limits,
      files: workspace.files,
      layers,
    },
  });
  let ending = JUST_OVER;
  try {
    const area = provider.capabilities.workArea ? workspace : null;
    ending = await new SegmentRun(context, run, sandbox.lease, area).run();
  } finally {
    await sandbox.finish(ending);
  }
}

/** What it needs could not be had, or was not waited for. */
async function leaveUnrun(
  context: Context,
  run: Run,
  provided: Exclude<Provided, { kind: "provided" }>,
): Promise<void> {
  if (provided.kind === "fenced") return;
  if (provided.kind === "failed") return endUnrun(context, run, provided.failure);
  const next = nextStep({ kind: "cancelled" }, run.segment.abort.signal, null);
  if (next.kind === "give back") return release(context, run, next.reason);
  if (next.kind === "end" && next.end.failure !== null) return endUnrun(context, run, next.end.failure);
}

/** Its environment or its files are at fault, so no program was started. */
async function endUnrun(context: Context, claimed: Claimed, failure: TaskFailure): Promise<void> {
  const { task } = claimed;
  await unmark(context, claimed);
  const recorder = createRecorder({ task, store: context.store, keptOutput: 0, onBroken: () => undefined });
  const end = { ...failedEnd(failure), leavesTraces: task.before || task.calls > 0 };
  const held = await untilDone(
    () => recorder.end(end, 0),
    (error) => context.log.warn({ err: error, task: task.id }, "the end could not be written yet"),
  );
  if (held) context.metrics.ended.inc({ status: end.status, code: failure.code });
}

class SegmentRun {
  readonly #context: Context;
  readonly #task: ClaimedTask;
  readonly #segment: RunningSegment;
  readonly #log: Context["log"];
  readonly #lease: Lease;
  readonly #memoryBytes: number;
  /** Null: the guest has no work area. */
  readonly #workspace: Workspace | null;
  readonly #recorder: Recorder;
  readonly #desk: Desk;
  #startedAt = performance.now();
  #divergence: string | null = null;
  #ending = JUST_OVER;

  constructor(context: Context, { task, segment, log, plan }: Run, lease: Lease, workspace: Workspace | null) {
    this.#context = context;
    this.#task = task;
    this.#segment = segment;
    segment.begun = true;
    this.#log = log;
    this.#lease = lease;
    this.#memoryBytes = plan.memoryBytes ?? context.limits.memoryBytes;
    this.#workspace = workspace;
    const signal = segment.abort.signal;
    this.#recorder = createRecorder({
      task,
      store: context.store,
      keptOutput: context.limits.keptOutputBytes,
      onBroken: (cause) => {
        if (cause !== "fenced") log.warn({ err: cause }, "a write may be lost; the task is given back");
        segment.abort.abort(stopReasonOf(cause));
      },
    });
    this.#desk = new Desk({
      context,
      task,
      recorder: this.#recorder,
      signal,
      log,
      onDiverged: (message) => {
        this.#divergence ??= message;
        segment.abort.abort("diverged");
      },
      onLive: () => {
        this.#startedAt = performance.now();
      },
      onMisplaced: () => segment.abort.abort("misplaced"),
    });
    segment.look = () => this.#desk.look();
  }

  async run(): Promise<Ending> {
    const { events } = this.#workspace ?? { events: [] };
    if (events.length > 0) this.#recorder.record({ events }).catch(() => undefined);
    // Restoring beside the call saves time on a quiet worker; on a busy one a guest that waits takes a thread.
    const busy = this.#context.running.count > EAGER_SEGMENTS;
    if (this.#task.kept !== null && busy) await Promise.race([this.#desk.somethingToGive, later(RESTORE_PATIENCE_MS)]);
    this.#startedAt = performance.now();
    const channel: GuestChannel = {
      output: (stream, text) => this.#recorder.output(stream, text),
      dropped: (bytes) => this.#recorder.dropped(bytes),
      call: (call) => this.#desk.call(call),
      idle: (idle) => this.#desk.idle(idle),
    };
    const guest = this.#lease.start(this.#program(), channel, this.#segment.abort.signal);
    this.#desk.attach(guest);
    await this.#settle(await guest.outcome);
    return this.#ending;
  }

  #program(): GuestProgram {
    const { language, code, input, seed, started_at, kept, timeout_ms, active_ms } = this.#task;
    const { limits } = this.#context;
    return {
      language,
      code,
      input,
      seed: seed.toString("hex"),
      clockStart: started_at.getTime(),
      kept,
      live: this.#desk.live,
      limits: {
        ...limits,
        memoryBytes: this.#memoryBytes,
        timeoutMs: Math.max(1, (timeout_ms ?? limits.timeoutMs) - active_ms),
      },
    };
  }

  async #settle(outcome: GuestOutcome): Promise<void> {
    const { signal } = this.#segment.abort;
    const finished = this.#desk.finish();
    // A stopped segment's calls were told to stop; one that does not is found as started by the next segment.
    const diverged = await (signal.aborted ? Promise.race([finished, later(STOP_PATIENCE_MS)]) : finished);
    if (outcome.kind === "returned" && diverged) return this.#end(divergedEnd(diverged));
    const step = nextStep(outcome, signal, this.#divergence);
    const next = step.kind === "end" && this.#workspace !== null ? await this.#collect(step) : step;
    switch (next.kind) {
      case "stop":
        this.#log.info("another segment holds the task's fence; stopped");
        return;
      case "give back":
        // Calls that have ended are not to be found as started.
        await this.#recorder.record({ events: [] }).catch(() => undefined);
        return this.#release(next.reason);
      case "park":
        return this.#park(next.outcome);
      case "end":
        return this.#end(next.end);
      default:
        assertNever(next);
    }
  }

  /** What the program left comes before its end. A cancelled one's files are nobody's wish any more. */
  async #collect(step: Extract<Next, { kind: "end" }>): Promise<Next> {
    const { status } = step.end;
    const { signal } = this.#segment.abort;
    if (status === "CANCELLED") return step;
    const parts = { files: this.#context.files, task: this.#task, lease: this.#lease, recorder: this.#recorder };
    try {
      await collectOutputs({ ...parts, signal });
      return step;
    } catch (error) {
      const unrecorded = error instanceof Unrecorded;
      // What ran to its end, and may not run again, has its end also where its files are not waited for.
      if (!unrecorded && signal.reason === "drain" && !this.#task.replayable)
        return this.#leave(step, "its worker was stopped before they were read");
      if (unrecorded || signal.aborted) return nextStep({ kind: "cancelled" }, signal, null);
      this.#log.warn({ err: error }, "what the task left in its work area could not be kept");
      const reason = `what the program left could not be kept: ${(error as Error).message}`;
      if (status === "SUCCEEDED") return { kind: "end", end: failedEnd({ code: "WORKSPACE_FAILED", message: reason }) };
      // Its own failure says more than ours.
      return this.#leave(step, reason);
    }
  }

  async #leave(step: Next, reason: string): Promise<Next> {
    const events = [newEvent("artifact.left", { name: null, reason })];
    await this.#recorder.record({ events }).catch(() => undefined);
    return step;
  }

  #activeMs(): number {
    return Math.max(0, Math.round(performance.now() - this.#startedAt));
  }

  async #end(end: Omit<TaskEnd, "leavesTraces">): Promise<void> {
    const leavesTraces = this.#task.before || this.#task.calls > 0 || this.#desk.hasHeld;
    const held = await untilDone(
      () => this.#recorder.end({ ...end, leavesTraces }, this.#activeMs()),
      (error) => this.#log.warn({ err: error }, "the end could not be written yet"),
    );
    if (!held) return;
    const { status, failure } = end;
    const own = status === "SUCCEEDED" || (status === "FAILED" && !NOT_ITS_OWN.has(failure?.code));
    this.#ending = { failed: status === "FAILED" || status === "TIMED_OUT", byItself: own };
    this.#context.metrics.ended.inc({ status: end.status, code: end.failure?.code ?? "" });
    this.#context.throughput.note(this.#task.project_id);
  }

  async #park({ kept }: Extract<GuestOutcome, { kind: "parked" }>): Promise<void> {
    const { calls, ...parking } = this.#desk.parkingOf();
    const keeps = kept !== null && kept.state.length <= this.#context.maxSnapshotBytes && !this.#context.parkByReplay;
    const written = await untilDone(
      () => this.#recorder.park({ ...parking, kept: keeps ? { ...kept, calls } : null }, this.#activeMs()),
      (error) => this.#log.warn({ err: error }, "the task could not be parked yet"),
    );
    if (written === null) return this.#release("worker drains");
    this.#context.metrics.parked.inc();
    if (written.requeued) void this.#context.feeder.feed();
  }

  #release(reason: GiveBackReason): Promise<void> {
    return release(this.#context, { task: this.#task, segment: this.#segment }, reason);
  }
}

type Next =
  | { readonly kind: "end"; readonly end: Omit<TaskEnd, "leavesTraces"> }
  | { readonly kind: "park"; readonly outcome: Extract<GuestOutcome, { kind: "parked" }> }
  | { readonly kind: "give back"; readonly reason: GiveBackReason }
  | { readonly kind: "stop" };

/** A write that Postgres refused will be refused again: the task must not be tried for ever. */
function stopReasonOf(cause: "fenced" | Error): StopReason {
  if (cause === "fenced") return "fenced";
  return wasRolledBack(cause) ? "unwritable" : "drain";
}

function failedEnd(failure: TaskFailure, exitCode: number | null = null): Omit<TaskEnd, "leavesTraces"> {
  const status = failure.code === "TIMEOUT" ? "TIMED_OUT" : failure.code === "CANCELLED" ? "CANCELLED" : "FAILED";
  return { status, output: null, exitCode, failure };
}

function divergedEnd(message: string): Omit<TaskEnd, "leavesTraces"> {
  return failedEnd({ code: "REPLAY_DIVERGED", message });
}

function nextStep(outcome: GuestOutcome, signal: AbortSignal, divergence: string | null): Next {
  const stopped = signal.aborted ? (signal.reason as StopReason) : null;
  if (stopped === "fenced") return { kind: "stop" };
  switch (outcome.kind) {
    case "returned": {
      const { output, exitCode = null } = outcome;
      return { kind: "end", end: { status: "SUCCEEDED", output, exitCode, failure: null } };
    }
    case "failed":
      return { kind: "end", end: failedEnd(outcome.failure, outcome.exitCode ?? null) };
    case "parked":
      return { kind: "park", outcome };
    case "cancelled":
      if (stopped === "unwritable") return { kind: "give back", reason: "write refused" };
      if (stopped === "drain") return { kind: "give back", reason: "worker drains" };
      if (stopped === "misplaced") return { kind: "give back", reason: "misplaced" };
      if (stopped === "diverged") return { kind: "end", end: divergedEnd(divergence ?? "") };
      return { kind: "end", end: failedEnd({ code: "CANCELLED", message: "cancelled while it ran" }) };
    case "lost":
      return { kind: "give back", reason: "sandbox lost" };
    default:
      return assertNever(outcome);
  }
}

/** Not awaited to its end by anyone: it must not keep the process alive. */
function later(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms).unref());
}
