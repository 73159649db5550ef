import type { JournalRow, Verdict } from "@airlock/shared/db";
import { DEFAULT_APPROVAL_MS } from "@airlock/shared/domain";
import { CallRunner, type Give, type RunnerOptions, SOON_MS } from "./call-runner.ts";
import { type Ask, callEntry, type Change, newApproval } from "./entries.ts";
import {
  type CheckedCall,
  checkCall,
  type FoundTool,
  hashOf,
  isRefusal,
  judgeCall,
  type Refusal,
} from "./judge-call.ts";
import { cannotSleep, cannotWait } from "./never-again.ts";
import { inputToRun, type OpenCall } from "./open-call.ts";
import { verdictStep } from "./verdict-step.ts";

export interface HandlerOptions extends RunnerOptions {
  readonly onMisplaced: () => void;
}

/** Where a call is between its arrival and its outcome. */
export interface CallPlace {
  /** It waits for a person or for the clock. */
  hold(call: OpenCall): void;
  release(call: OpenCall): void;
  readonly give: Give;
}

/** What happens to one call: checked, judged, journaled, run or held. */
export class CallHandler {
  readonly #o: HandlerOptions;
  readonly #place: CallPlace;
  readonly #runner: CallRunner;
  #budget: number | null;

  constructor(options: HandlerOptions, place: CallPlace) {
    this.#o = options;
    this.#place = place;
    this.#runner = new CallRunner(options, place.give);
    this.#budget = options.task.budget;
  }

  /** A call of an earlier segment that has no outcome yet. */
  async adopt(call: OpenCall, row: JournalRow): Promise<void> {
    if (row.status === "STARTED") return this.#recover(call);
    if (row.verdict?.status === "PENDING") return this.#place.hold(call);
    return this.act(call);
  }

  get hasUngiven(): boolean {
    return this.#runner.hasUngiven;
  }

  /** The guest's clock has come this far: no outcome comes earlier. */
  passTime(at: number): void {
    this.#runner.passTime(at);
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
        return this.#runner.complete(call, step.result);
      case "judge":
        return this.judge(call, "changed");
      case "run":
        return this.#runApproved(call);
    }
  }

  /** `changed` where policies may have become others since the worker last read them. */
  async judge(call: OpenCall, policies: "known" | "changed" = "known"): Promise<void> {
    const { context, task } = this.#o;
    const found = await this.#find(call.path);
    if (await this.#isElsewhere(found, call)) return this.#o.onMisplaced();
    const checked = checkCall(found, call);
    call.inputHash = isRefusal(checked) ? hashOf(call.path, "", call.sent) : checked.inputHash;
    if (isRefusal(checked)) return this.#runner.complete(call, { ok: false, ...checked });
    // Null would leave in the journal what the defaults of another version made of it.
    call.input = checked.input ?? (call.journaled ? call.sent : null);
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
    if ("code" in judged) return this.#runner.complete(call, { ok: false, ...judged });
    const { mode, defaultMode, approvalMs } = judged;
    if (mode === "DENY") return this.#deny(call);
    if (mode === "AUTO") return this.#proceed(call, checked);
    return this.#hold(call, "WAITING", { kind: "TOOL_CALL", defaultMode, expiresInMs: approvalMs });
  }

  /** Its segment was lost between start and end: run again only what may run twice. */
  async #recover(call: OpenCall): Promise<void> {
    call.begun = true;
    const found = await this.#find(call.path);
    if (await this.#isElsewhere(found, call)) return this.#o.onMisplaced();
    const checked = checkCall(found, { path: call.path, sent: inputToRun(call) });
    // One that waits instead of running has had no effect.
    const mayProceed = !isRefusal(checked) && (checked.tool.idempotent || checked.tool.parks(checked.value) !== null);
    if (mayProceed) return this.#proceed(call, checked);
    const ask = { kind: "UNKNOWN_OUTCOME", defaultMode: "REQUIRED", expiresInMs: DEFAULT_APPROVAL_MS } as const;
    return this.#hold(call, "UNKNOWN", { ...ask, ...editOf(call, checked) });
  }

  /** Approved as shown: the stored input runs, or the edited one; with another schema the approval means nothing. */
  async #runApproved(call: OpenCall): Promise<void> {
    const { context } = this.#o;
    const found = await this.#find(call.path);
    const version = call.verdict?.version ?? call.version;
    if (found.tool?.version !== version) {
      if (await context.isOffered({ path: call.path, version }, this.#o.task.id)) {
        await this.#runner.unstart(call);
        return this.#o.onMisplaced();
      }
      call.verdict = null;
      return this.judge(call);
    }
    // Where it had been lost, a person has said that it did not happen.
    call.begun = false;
    const checked = checkCall(found, { path: call.path, sent: inputToRun(call) });
    if (isRefusal(checked)) return this.#runner.complete(call, { ok: false, ...checked });
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

  /** A tool that came with a deploy which has not reached this worker yet. One that is never run again is told so. */
  async #isElsewhere({ tool }: FoundTool, { path }: OpenCall): Promise<boolean> {
    const { context, task } = this.#o;
    return tool === undefined && task.replayable && context.isOffered({ path, version: null }, task.id);
  }

  #deny(call: OpenCall): Promise<void> {
    const message = `policy denies ${call.path} in this project`;
    return this.#runner.complete(call, { ok: false, code: "TOOL_DENIED", message });
  }

  #askForBudget(call: OpenCall): Promise<void> {
    const inputHash = hashOf("budget", "", { task: this.#o.task.id, calls: call.index });
    const ask = { kind: "BUDGET", defaultMode: "REQUIRED", expiresInMs: DEFAULT_APPROVAL_MS, inputHash } as const;
    return this.#hold(call, "WAITING", ask);
  }

  /** Allowed: it runs, or it waits for what it is there to wait for. */
  async #proceed(call: OpenCall, checked: CheckedCall): Promise<void> {
    const parks = checked.tool.parks(checked.value);
    if (parks === null) return this.#runner.start(call, checked);
    if (parks.kind === "timer") return this.#sleep(call, parks.ms);
    const ask = { kind: "QUESTION", defaultMode: "AUTO", expiresInMs: checked.tool.approvalMs } as const;
    return this.#hold(call, "WAITING", { ...ask, ...editOf(call, checked) });
  }

  async #hold(call: OpenCall, status: "WAITING" | "UNKNOWN", ask: Ask): Promise<void> {
    const { context, task } = this.#o;
    if (!task.replayable) return this.#runner.complete(call, cannotWait(call.path, ask.kind));
    const approval = newApproval(call, ask);
    const { id, kind, version, editedInput } = approval;
    call.verdict = { id, kind, status: "PENDING", version, editedInput, reason: null, decidedBy: null, answer: null };
    this.#wait(call, { status, approval }, () => context.announceApproval(task.project_id, approval));
  }

  async #sleep(call: OpenCall, ms: number): Promise<void> {
    if (!this.#o.task.replayable) return this.#runner.complete(call, cannotSleep(call.path));
    call.wakeAt = Date.now() + ms;
    this.#wait(call, { status: "WAITING", wakeAt: new Date(call.wakeAt) });
  }

  /** Its row travels with the parking that most likely follows. */
  #wait(call: OpenCall, change: Change, then: () => void = () => undefined): void {
    this.#o.recorder.record(callEntry(call, change), SOON_MS).then(then, () => undefined);
    call.journaled = true;
    call.startJournaled = false;
    this.#place.hold(call);
  }
}

/** What a person is shown of a call that was approved with another input than it was made with. */
function editOf(call: OpenCall, checked: CheckedCall | Refusal): Pick<Ask, "editedInput" | "inputHash"> {
  const edited = inputToRun(call);
  if (edited === (call.input ?? call.sent)) return {};
  const editedInput = isRefusal(checked) ? edited : (checked.input ?? edited);
  return { editedInput, inputHash: hashOf(call.path, call.version, JSON.parse(editedInput)) };
}
