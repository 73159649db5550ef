import { type ClaimedTask, openCalls, storable } from "@airlock/shared/db";
import { CALL_LIMITS } from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import type { Context } from "../context.ts";
import { Replay, resultOfRow } from "../parking/replay.ts";
import { type Recorder, Unrecorded } from "../runner/recorder.ts";
import type { CallResult, GuestCall, GuestIdle, RunningGuest } from "../sandboxes/port.ts";
import { CallHandler } from "./call-handler.ts";
import { isMarked, metaOf, type OpenCall, openCallOf } from "./open-call.ts";

export interface DeskOptions {
  readonly context: Context;
  readonly task: ClaimedTask;
  readonly recorder: Recorder;
  /** Aborted when the segment stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** The guest takes another way than its first run did. */
  readonly onDiverged: (message: string) => void;
  /** All that was recorded has been given: from now on the guest's time counts. */
  readonly onLive: () => void;
  /** A call needs a tool that other workers have and this one has not. */
  readonly onMisplaced: () => void;
}

const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * The tool desk of one segment: every `await tools.…` comes here. It looks the tool up, checks the input, asks policy,
 * journals, runs or holds the call, and gives the guest the outcome; and it says when the guest can be parked.
 */
export class Desk {
  readonly #o: DeskOptions;
  readonly #replay: Replay;
  /** Calls that match nothing recorded, kept until everything recorded was made again. */
  readonly #unmatched: GuestCall[] = [];
  readonly #handler: CallHandler;
  /** Calls that wait for a person or for the clock. */
  readonly #held = new Map<number, OpenCall>();
  readonly #running = new Set<Promise<void>>();
  readonly #started = Promise.withResolvers<void>();
  #guest: RunningGuest | null = null;
  /** Outcomes that wait for the guest's start, or for recorded ones to be given first. */
  readonly #later: (() => void)[] = [];
  #idle: GuestIdle | null = null;
  /** For the guest's next timer, and for the first held call that waits for the clock. */
  #timer: NodeJS.Timeout | undefined;
  #alarm: NodeJS.Timeout | undefined;
  #live: boolean;
  #parking = false;
  #ended = false;
  /** An outcome may have been stored that was not looked for yet. */
  #unseen = false;
  #nextIndex: number;
  #wakes: number;

  constructor(options: DeskOptions) {
    const { task } = options;
    this.#o = options;
    const kept = task.kept?.calls ?? [];
    this.#replay = new Replay(task.journal, kept);
    this.#live = (task.kept !== null || !task.before) && this.#replay.allGiven && this.#replay.allClaimed;
    this.#nextIndex = task.calls;
    this.#wakes = task.wakes;
    this.#handler = new CallHandler(options, {
      hold: (call) => this.#hold(call),
      release: (call) => void this.#held.delete(call.index),
      give: (call, result, at) => this.#give(call, result, at),
    });
    const byIndex = new Map(task.journal.map((row) => [row.index, row]));
    for (const [guestId, index] of kept) {
      const row = byIndex.get(index);
      if (row?.completion !== null) continue;
      const call = openCallOf(row, { id: guestId, at: 0 }, isMarked(row));
      this.#track(this.#handler.adopt(call, row));
    }
    if (this.#running.size === 0) this.#started.resolve();
  }

  /** Nothing recorded has to be given first. */
  get live(): boolean {
    return this.#live;
  }

  /** A restored guest has nothing to do before this. */
  get somethingToGive(): Promise<void> {
    return this.#started.promise;
  }

  /** Whether the task has made a call that may leave an approval behind. */
  get hasHeld(): boolean {
    return this.#held.size > 0;
  }

  attach(guest: RunningGuest): void {
    this.#guest = guest;
    if (this.#replay.allGiven) for (const give of this.#later.splice(0)) give();
  }

  // What the guest says.

  call(made: GuestCall): void {
    this.#idle = null;
    // As the journal can hold it: no tool's path has a NUL.
    const call = { ...made, path: storable(made.path) };
    const row = this.#replay.claim(call);
    if (row === null) {
      if (this.#replay.allClaimed) this.#open(call);
      else this.#unmatched.push(call);
      return;
    }
    if (row.completion === null) this.#track(this.#handler.adopt(openCallOf(row, call), row));
    if (this.#replay.allClaimed) for (const waiting of this.#unmatched.splice(0)) this.#open(waiting);
  }

  idle(idle: GuestIdle): void {
    // It goes on: if it was asked to park, something came in between.
    this.#parking = false;
    this.#idle = idle;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wakeHeld();
    if (this.#unseen) this.look();
    this.#advance();
  }

  /**
   * An outcome may have been stored while the segment runs. Not before everything recorded was made again: a call that is
   * still to be made is held as the claim saw it, and its outcome would count as seen.
   */
  look(): void {
    this.#unseen = this.#parking || !this.#replay.allClaimed;
    if (this.#unseen || this.#ended || this.#held.size === 0) return;
    this.#track(this.#look());
  }

  /** The program has ended: started calls finish first. The message says where it took another way than before. */
  async finish(): Promise<string | null> {
    const diverged = this.#replay.allClaimed ? null : this.#replay.explain(this.#unmatched);
    clearTimeout(this.#timer);
    clearTimeout(this.#alarm);
    this.#ended = true;
    while (this.#running.size > 0) await Promise.all(this.#running);
    return diverged;
  }

  /** What to store with the parked task. */
  parkingOf(): { wakes: number; wakeAt: Date | null; waitingFor: string; calls: string } {
    const held = [...this.#held.values()];
    const times = held.flatMap((call) => call.wakeAt ?? []);
    const timerMs = this.#idle?.timerMs ?? null;
    if (timerMs !== null) times.push(Date.now() + timerMs);
    const asked = held.some((call) => call.verdict?.status === "PENDING");
    return {
      wakes: this.#wakes,
      wakeAt: times.length === 0 ? null : new Date(Math.min(...times)),
      waitingFor: asked ? (held.every((call) => call.verdict?.kind === "QUESTION") ? "answer" : "approval") : "timer",
      calls: JSON.stringify(held.map((call) => [call.guestId, call.index])),
    };
  }

  // How things go on.

  #advance(): void {
    const idle = this.#idle;
    if (idle === null || this.#guest === null || this.#parking) return;
    if (!this.#replay.allGiven) return this.#giveRecorded(idle, this.#guest);
    if (this.#later.length > 0) {
      for (const give of this.#later.splice(0)) give();
      return;
    }
    if (!this.#live) {
      this.#live = true;
      this.#idle = null;
      this.#o.onLive();
      return this.#guest.goLive();
    }
    if (idle.waits && idle.timerMs !== null && idle.timerMs <= LONGEST_TIMEOUT_MS) {
      this.#timer ??= setTimeout(() => this.#tick(idle), idle.timerMs);
    }
    if (this.#running.size > 0) return;
    const timersDone = idle.timerMs === null || idle.timerMs > 0;
    if (!this.#replay.allClaimed) {
      if (timersDone) this.#o.onDiverged(this.#replay.explain(this.#unmatched));
      return;
    }
    if (idle.timerMs !== null && idle.timerMs <= CALL_LIMITS.patienceMs) return;
    // It could not go on from anywhere: its timers are waited for, however long they are.
    if (!this.#o.task.replayable) return;
    this.#parking = true;
    this.#guest.park(idle);
  }

  /** The guest's first timer is due. An outcome that has its time already goes first, and those to come are later. */
  #tick(idle: GuestIdle): void {
    if (this.#idle !== idle || this.#parking || this.#handler.hasUngiven) return;
    this.#handler.passTime(idle.timerAt ?? 0);
    this.#idle = null;
    this.#guest?.tick(idle);
  }

  #hold(call: OpenCall): void {
    this.#held.set(call.index, call);
    if (call.wakeAt !== null) this.#setAlarm();
  }

  /** A sleep may end while timers, or other calls, keep the guest from parking. */
  #setAlarm(): void {
    clearTimeout(this.#alarm);
    const times = [...this.#held.values()].flatMap((call) => call.wakeAt ?? []);
    if (times.length === 0 || this.#ended) return;
    const wait = Math.min(Math.max(0, Math.min(...times) - Date.now()), LONGEST_TIMEOUT_MS);
    this.#alarm = setTimeout(() => this.#wakeHeld(), wait);
  }

  #wakeHeld(): void {
    if (this.#parking || this.#ended) return;
    const now = Date.now();
    const due = [...this.#held.values()].filter(({ wakeAt }) => wakeAt !== null && wakeAt <= now);
    for (const call of due) this.#track(this.#handler.act(call));
    this.#setAlarm();
  }

  /** The next recorded outcome; its call may first have to be made again by a timer that was due before it. */
  #giveRecorded(idle: GuestIdle, guest: RunningGuest): void {
    const next = this.#replay.next();
    this.#idle = null;
    if (next !== null) {
      const { row, guestId } = next;
      return guest.settle({ id: guestId, at: row.finishedAt ?? 0, result: resultOfRow(row), meta: metaOf(row) });
    }
    if (idle.timerAt !== null && idle.timerAt <= this.#replay.nextAt) return guest.tick(idle);
    this.#o.onDiverged(this.#replay.explain(this.#unmatched));
  }

  /** A new outcome: never before one that was recorded. */
  #give(call: OpenCall, result: CallResult, at: Date): void {
    const settlement = { id: call.guestId, at: at.getTime(), result, meta: metaOf(call) };
    const give = () => {
      this.#idle = null;
      this.#guest?.settle(settlement);
    };
    if (this.#guest === null || !this.#replay.allGiven) this.#later.push(give);
    else give();
    this.#started.resolve();
  }

  /** Work on a call; when it is done the guest may have to be parked. */
  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        // The segment is over; the recorder has told the runner why.
        if (!(error instanceof Unrecorded)) this.#o.log.error({ err: error }, "a call could not be handled");
      })
      .finally(() => {
        this.#running.delete(tracked);
        if (this.#running.size === 0) this.#started.resolve();
        this.#advance();
      });
    this.#running.add(tracked);
  }

  async #look(): Promise<void> {
    const { context, task } = this.#o;
    const found = await openCalls(context.db, { taskId: task.id, fence: task.segments });
    // What is held when the program has ended ends with the task.
    if (found === null || this.#ended) return;
    this.#wakes = Math.max(this.#wakes, found.wakes);
    for (const { index, verdict } of found.journal) {
      const call = this.#held.get(index);
      if (call === undefined || verdict === null || verdict.status === "PENDING") continue;
      // The call may have been judged anew meanwhile: what it waits for now is another question.
      if (verdict.id === call.verdict?.id) this.#track(this.#handler.decided(call, verdict));
    }
  }

  #open({ id, path, input, at }: GuestCall): void {
    const facts = { index: this.#nextIndex++, path, sent: input, input: null, version: "" };
    const before = { journaled: false, startJournaled: false, begun: false, verdict: null, wakeAt: null };
    const call = { ...facts, ...before, inputHash: Buffer.alloc(0), guestId: id, madeAt: at };
    this.#track(this.#handler.judge(call));
  }
}
