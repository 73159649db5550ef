import { type ClaimedTask, type Database, insertOutput } from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import type { Context } from "../context.ts";
import { type Recorder, Unrecorded } from "../runner/recorder.ts";
import { isHandedOn } from "../runner/running-segments.ts";
import type { CallResult } from "../sandboxes/port.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import { callEntry, statusOf } from "./entries.ts";
import type { CheckedCall } from "./judge-call.ts";
import type { OpenCall } from "./open-call.ts";
import { failureOf, resultOf, runTool, TooLarge } from "./run-tool.ts";

export interface RunnerOptions {
  readonly context: Context;
  readonly task: ClaimedTask;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** A call has its outcome. */
export type Give = (call: OpenCall, result: CallResult, at: Date) => void;

/**
 * What nothing outside depends on travels with whatever the guest does next: its next call, most likely, whose start
 * would otherwise have to wait for this write to end.
 */
export const SOON_MS = 5;

/** An effect that is to be committed, and the artifact that it leaves. */
interface Effect {
  readonly result: CallResult;
  readonly artifact?: string;
}

/**
 * Runs calls that may run, each journaled before it starts and after it ended. An outcome is given to the guest while it
 * is still on its way into the journal: nothing that the guest does with it can be committed before it.
 */
export class CallRunner {
  readonly #o: RunnerOptions;
  readonly #give: Give;
  #lastAt = 0;
  /** Outcomes that have their time and are not given yet. */
  #ungiven = 0;

  constructor(options: RunnerOptions, give: Give) {
    this.#o = options;
    this.#give = give;
  }

  get hasUngiven(): boolean {
    return this.#ungiven > 0;
  }

  /** The guest's clock has come this far: no outcome comes earlier. */
  passTime(at: number): void {
    this.#lastAt = Math.max(this.#lastAt, Math.ceil(at));
  }

  async start(call: OpenCall, { tool, value }: CheckedCall): Promise<void> {
    const { recorder, signal } = this.#o;
    if (!(await this.#mayBegin(call))) return;
    const about = this.#contextOf(call, tool);
    if (tool.transactional) return this.#transact(call, tool, value, about);
    if (!call.startJournaled) {
      await recorder.record(callEntry(call, { status: "STARTED", startedAt: new Date() }));
      call.journaled = true;
      call.startJournaled = true;
      // Frozen before it heard of the commit, it would be late: a person may have said that the call did not happen.
      if (!(await this.#mayBegin(call))) return;
    }
    call.startJournaled = false;
    call.begun = true;
    const result = await runTool(tool, about, value, signal);
    // Stopped under it: it stays started, and the next segment does what is right for one whose outcome is unknown.
    if (result === null) return;
    return result instanceof TooLarge ? this.#file(call, result) : this.complete(call, result);
  }

  /** The journal has it as started, and it was not: the next segment must not take it for one that may have run. */
  async unstart(call: OpenCall): Promise<void> {
    if (!call.startJournaled || call.begun) return;
    call.startJournaled = false;
    await this.#o.recorder.record(callEntry(call, { status: "WAITING" }));
  }

  async complete(call: OpenCall, result: CallResult): Promise<void> {
    const at = this.#now(call);
    const entry = callEntry(call, { status: statusOf(result), result: { result, at } });
    this.#o.recorder.record(entry, SOON_MS).catch(() => undefined);
    call.journaled = true;
    this.#give(call, result, at);
  }

  /** Not on a worker that others may have given up, and not in a segment that is stopped. */
  async #mayBegin(call: OpenCall): Promise<boolean> {
    const { context, signal } = this.#o;
    await context.heart.isFresh(signal);
    if (!signal.aborted) return true;
    await this.unstart(call);
    return false;
  }

  #transact(call: OpenCall, tool: Tool, value: unknown, about: Omit<ToolContext, "signal">): Promise<void> {
    const startedAt = new Date();
    const run = async (db: Database): Promise<Effect> => {
      const result = resultOf(tool, await tool.run({ ...about, db, signal: this.#o.signal }, value));
      if (result instanceof TooLarge) throw result;
      return { result };
    };
    return this.#commit(call, run, startedAt);
  }

  /** An answer too large for the journal becomes an artifact, where the tool says that it may. */
  #file(call: OpenCall, { tool, text, message }: TooLarge): Promise<void> {
    if (!tool.answersWithArtifact) return this.complete(call, { ok: false, code: "TOOL_FAILED", message });
    const { id: taskId, project_id: projectId, session } = this.#o.task;
    const name = `call-${call.index}.json`;
    return this.#commit(call, async (db) => {
      const bytes = Buffer.from(text);
      const file = { projectId, taskId, session, name, contentType: "application/json", bytes };
      return {
        result: { ok: true, value: JSON.stringify({ artifact: await insertOutput(db, file) }) },
        artifact: name,
      };
    });
  }

  /** The effect and the journal row are one: there is no moment at which one is there without the other. */
  async #commit(call: OpenCall, act: (db: Database) => Promise<Effect>, startedAt?: Date): Promise<void> {
    let done: { result: CallResult; at: Date } | null = null;
    try {
      await this.#o.recorder.transact(async (db) => {
        const { result, artifact } = await act(db);
        done = { result, at: this.#now(call) };
        this.#ungiven += 1;
        return callEntry(call, {
          status: "SUCCEEDED",
          result: done,
          ...(startedAt && { startedAt }),
          ...(artifact !== undefined && { artifact }),
        });
      });
    } catch (error) {
      if (done !== null) this.#ungiven -= 1;
      if (error instanceof Unrecorded) throw error;
      if (isHandedOn(this.#o.signal)) return;
      return this.complete(call, failureOf(error));
    }
    const { result, at } = done as unknown as { result: CallResult; at: Date };
    this.#ungiven -= 1;
    this.#give(call, result, at);
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
