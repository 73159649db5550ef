import { type ClaimedTask, insertOutput, type JournalRow, type Verdict } from "@airlock/shared/db";
import { type ApprovalKind, DEFAULT_APPROVAL_MS, type PolicyMode } from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import type { Context } from "../context.ts";
import { type Recorder, Unrecorded } from "../runner/recorder.ts";
import type { CallResult } from "../sandboxes/port.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import { callEntry, newApproval, statusOf } from "./entries.ts";
import { type CheckedCall, checkCall, type FoundTool, hashOf, isRefusal, judgeCall } from "./judge-call.ts";
import type { OpenCall } from "./open-call.ts";
import { failureOf, resultOf, runTool, TooLarge } from "./run-tool.ts";
import { verdictStep } from "./verdict-step.ts";

export interface HandlerOptions {
  readonly context: Context;
  readonly task: ClaimedTask;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly onMisplaced: () => void;
}

/** Where a call is between its arrival and its outcome. */
export interface CallPlace {
  /** It waits for a person or for the clock. */
  hold(call: OpenCall): void;
  release(call: OpenCall): void;
  /** It has its outcome. */
  give(call: OpenCall, result: CallResult, at: Date): void;
}

/**
 * What nothing outside depends on travels with whatever the guest does next: its next call, most likely, whose start
 * would otherwise have to wait for this write to end.
 */
const SOON_MS = 5;

interface Ask {
  readonly kind: ApprovalKind;
  readonly defaultMode: PolicyMode;
  readonly expiresInMs: number;
  readonly inputHash?: Buffer;
}

/**
 * What happens to one call: checked, judged, journaled, run or held. An outcome is given to the guest while it is still
 * on its way into the journal: nothing that the guest does with it can be committed before it.
 */
export class CallHandler {
  readonly #o: HandlerOptions;
  readonly #place: CallPlace;
  #budget: number | null;
  #lastAt = 0;
  /** Outcomes that have their time and are not given yet. */
  #ungiven = 0;

  constructor(options: HandlerOptions, place: CallPlace) {
    this.#o = options;
    this.#place = place;
    this.#budget = options.task.budget;
  }

  /** A call of an earlier segment that has no outcome yet. */
  async adopt(call: OpenCall, row: JournalRow): Promise<void> {
    if (row.status === "STARTED") return this.#recover(call);
    if (row.verdict?.status === "PENDING") return this.#place.hold(call);
    return this.act(call);
  }

  get hasUngiven(): boolean {
    return this.#ungiven > 0;
  }

  /** The guest's clock has come this far: no outcome comes earlier. */
  passTime(at: number): void {
    this.#lastAt = Math.max(this.#lastAt, Math.ceil(at));
  }

  /** A person has spoken while the segment runs: the claim did not know of it. */
  async decided(call: OpenCall, verdict: Verdict): Promise<void> {
    call.verdict = verdict;
    const { max_tool_calls } = this.#o.task;
    const raised = verdict.kind === "BUDGET" && verdict.status === "APPROVED";
    if (raised && this.#budget !== null) this.#budget += Math.max(max_tool_calls ?? 0, 1);
    return this.act(call);
  }

  /** A person has spoken, or time is up, or nobody was asked: what now? */
  async act(call: OpenCall): Promise<void> {
    this.#place.release(call);
    const step = verdictStep(call, Date.now());
    switch (step.kind) {
      case "wait":
        return this.#place.hold(call);
      case "complete":
        return this.#complete(call, step.result);
      case "judge":
        return this.judge(call, "changed");
      case "run":
        return this.#runApproved(call, step.input);
    }
  }

  /** `changed` where policies may have become others since the worker last read them. */
  async judge(call: OpenCall, policies: "known" | "changed" = "known"): Promise<void> {
    const { context, task } = this.#o;
    const checked = checkCall(await this.#find(call.path), call);
    call.inputHash = isRefusal(checked) ? hashOf(call.path, "", call.sent) : checked.inputHash;
    if (isRefusal(checked)) return this.#complete(call, { ok: false, ...checked });
    call.input = checked.input;
    call.version = checked.tool.version;
    // One that is in the journal has been counted, or let past by a person.
    if (this.#budget !== null && !call.journaled) {
      this.#budget -= 1;
      if (this.#budget < 0) return this.#askForBudget(call);
    }
    const { of, fresh } = context.policies;
    const { project_id, policies_version } = task;
    const rules = policies === "changed" ? fresh(project_id) : of(project_id, policies_version);
    let judged = judgeCall(checked, await rules, task);
    // Nobody is asked about what a person has just allowed.
    if (policies === "known" && "mode" in judged && judged.mode === "REQUIRED") {
      judged = judgeCall(checked, await fresh(project_id), task);
    }
    if ("code" in judged) return this.#complete(call, { ok: false, ...judged });
    const { mode, defaultMode, approvalMs } = judged;
    if (mode === "DENY") return this.#deny(call);
    if (mode === "AUTO") return this.#proceed(call, checked);
    return this.#hold(call, "WAITING", { kind: "TOOL_CALL", defaultMode, expiresInMs: approvalMs });
  }

  /** Its segment was lost between start and end: run again only what may run twice. */
  async #recover(call: OpenCall): Promise<void> {
    const found = await this.#find(call.path);
    const checked = checkCall(found, { path: call.path, sent: call.input ?? call.sent });
    if (!isRefusal(checked) && checked.tool.idempotent) return this.#start(call, checked);
    const ask = { kind: "UNKNOWN_OUTCOME", defaultMode: "REQUIRED", expiresInMs: DEFAULT_APPROVAL_MS } as const;
    return this.#hold(call, "UNKNOWN", ask);
  }

  /** Approved as shown: the stored input runs, or the edited one; with another schema the approval means nothing. */
  async #runApproved(call: OpenCall, edited: string | null): Promise<void> {
    const { context } = this.#o;
    const found = await this.#find(call.path);
    if (found.tool?.version !== call.version) {
      if (await context.isOffered(call.path, call.version)) {
        await this.#unstart(call);
        return this.#o.onMisplaced();
      }
      call.verdict = null;
      return this.judge(call);
    }
    const checked = checkCall(found, { path: call.path, sent: edited ?? call.input ?? call.sent });
    if (isRefusal(checked)) return this.#complete(call, { ok: false, ...checked });
    // A policy that came meanwhile and denies the call wins over the person who did not know of it.
    const { task } = this.#o;
    const judged = judgeCall(checked, await context.policies.of(task.project_id, task.policies_version), task);
    if (!("code" in judged) && judged.mode === "DENY") return this.#deny(call);
    return this.#proceed(call, checked);
  }

  /** A worker's own tools come first, and cost no question. */
  async #find(path: string): Promise<FoundTool> {
    const { context, task } = this.#o;
    const { tools: registry } = context;
    return { registry, tool: registry.get(path) ?? (await context.functions.find(task.project_id, path)) };
  }

  #deny(call: OpenCall): Promise<void> {
    const message = `policy denies ${call.path} in this project`;
    return this.#complete(call, { ok: false, code: "TOOL_DENIED", message });
  }

  #askForBudget(call: OpenCall): Promise<void> {
    const inputHash = hashOf("budget", "", { task: this.#o.task.id, calls: call.index });
    const ask = { kind: "BUDGET", defaultMode: "REQUIRED", expiresInMs: DEFAULT_APPROVAL_MS, inputHash } as const;
    return this.#hold(call, "WAITING", ask);
  }

  /** Allowed: it runs, or it waits for what it is there to wait for. */
  async #proceed(call: OpenCall, checked: CheckedCall): Promise<void> {
    const parks = checked.tool.parks(checked.value);
    if (parks === null) return this.#start(call, checked);
    if (parks.kind === "timer") return this.#sleep(call, parks.ms);
    const expiresInMs = checked.tool.approvalMs;
    return this.#hold(call, "WAITING", { kind: "QUESTION", defaultMode: "AUTO", expiresInMs });
  }

  async #hold(call: OpenCall, status: "WAITING" | "UNKNOWN", ask: Ask): Promise<void> {
    const { context, task } = this.#o;
    const approval = newApproval(call, ask);
    this.#recordLater(callEntry(call, { status, approval }), () => context.announceApproval(task.project_id, approval));
    call.journaled = true;
    const nobody = { reason: null, decidedBy: null, editedInput: null, answer: null };
    call.verdict = { id: approval.id, kind: approval.kind, status: "PENDING", ...nobody };
    this.#place.hold(call);
  }

  async #sleep(call: OpenCall, ms: number): Promise<void> {
    call.wakeAt = Date.now() + ms;
    this.#recordLater(callEntry(call, { status: "WAITING", wakeAt: new Date(call.wakeAt) }));
    call.journaled = true;
    this.#place.hold(call);
  }

  /** Travels with the parking that most likely follows. */
  #recordLater(entry: ReturnType<typeof callEntry>, then: () => void = () => undefined): void {
    this.#o.recorder.record(entry, SOON_MS).then(then, () => undefined);
  }

  async #start(call: OpenCall, checked: CheckedCall): Promise<void> {
    const { context, recorder, signal } = this.#o;
    const { tool, value } = checked;
    await context.heart.isFresh(signal);
    if (signal.aborted) return this.#unstart(call);
    const about = this.#contextOf(call, tool);
    if (tool.transactional) return this.#transact(call, tool, value, about);
    if (!call.startJournaled) await recorder.record(callEntry(call, { status: "STARTED", startedAt: new Date() }));
    call.startJournaled = false;
    call.journaled = true;
    const result = await runTool(tool, about, value, signal);
    return this.#complete(call, result instanceof TooLarge ? await this.#file(call, result) : result);
  }

  /** The claim journaled it as started, and it will not be: the next segment must not take it for lost. */
  async #unstart(call: OpenCall): Promise<void> {
    if (!call.startJournaled) return;
    call.startJournaled = false;
    await this.#o.recorder.record(callEntry(call, { status: "WAITING" }));
  }

  /** The effect and the journal row are one: there is no moment at which one is there without the other. */
  async #transact(call: OpenCall, tool: Tool, value: unknown, about: Omit<ToolContext, "signal">): Promise<void> {
    const startedAt = new Date();
    let done: { result: CallResult; at: Date } | null = null;
    try {
      await this.#o.recorder.transact(async (db) => {
        const result = resultOf(tool, await tool.run({ ...about, db, signal: this.#o.signal }, value));
        if (result instanceof TooLarge) throw result;
        done = { result, at: this.#now(call) };
        this.#ungiven += 1;
        return callEntry(call, { status: "SUCCEEDED", startedAt, result: done });
      });
    } catch (error) {
      if (done !== null) this.#ungiven -= 1;
      if (error instanceof Unrecorded) throw error;
      return this.#complete(call, failureOf(error));
    }
    const { result, at } = done as unknown as { result: CallResult; at: Date };
    this.#ungiven -= 1;
    this.#place.give(call, result, at);
  }

  /** An answer too large for the journal becomes an artifact, where the tool says that it may. */
  async #file(call: OpenCall, { tool, text, message }: TooLarge): Promise<CallResult> {
    if (!tool.answersWithArtifact) return { ok: false, code: "TOOL_FAILED", message };
    const { context, task } = this.#o;
    const artifact = await insertOutput(context.db, {
      projectId: task.project_id,
      taskId: task.id,
      session: task.session,
      name: `call-${call.index}.json`,
      contentType: "application/json",
      bytes: Buffer.from(text),
    });
    return { ok: true, value: JSON.stringify({ artifact }) };
  }

  async #complete(call: OpenCall, result: CallResult): Promise<void> {
    const at = this.#now(call);
    const entry = callEntry(call, { status: statusOf(result), result: { result, at } });
    this.#o.recorder.record(entry, SOON_MS).catch(() => undefined);
    call.journaled = true;
    this.#place.give(call, result, at);
  }

  /** Never before an earlier outcome, nor before the call: the guest's clock goes one way. */
  #now({ madeAt }: OpenCall): Date {
    this.#lastAt = Math.max(this.#lastAt, Date.now(), Math.ceil(madeAt));
    return new Date(this.#lastAt);
  }

  #contextOf(call: OpenCall, tool: Tool): Omit<ToolContext, "signal"> {
    const { context, task, log } = this.#o;
    return {
      projectId: task.project_id,
      taskId: task.id,
      session: task.session,
      callIndex: call.index,
      idempotencyKey: `${task.id}/${call.index}`,
      secrets: context.secrets,
      log: log.child({ tool: tool.path, call: call.index }),
      db: context.db,
    };
  }
}
