import { createHash } from "node:crypto";
import { BOX_FLOATS, BOX_WORDS } from "../../../guests/javascript/box.ts";
import { CALL_INPUT_CHARS, CALL_PATH_CHARS } from "../../../guests/javascript/call-limits.ts";
import { type GlueEntry, HOST_FUNCTIONS } from "../../../guests/isolate/glue.ts";
import { PROMISE_FULFILLED, PROMISE_PENDING, type EngineHooks } from "../engine/abi.ts";
import type { Box, Machine } from "../engine/machine.ts";
import { applySnapshot, readSnapshot, takeSnapshot } from "../engine/snapshot.ts";
import type { GuestIdle } from "../../port.ts";
import { NEVER_SETTLES, madeBadCall, printedTooMuch, ranTooLong, returnedTooMuch } from "../../rules/failures.ts";
import { OpenCalls } from "../../rules/open-calls.ts";
import type { GuestEnd, RunMessage } from "../messages.ts";
import { MEMORY_FOR_LAST_WORDS, describeThrown, failedEnd, trapEnd } from "./ends.ts";
import type { Resumed, Said } from "./messages.ts";
import { Output } from "./output.ts";
import { FIRST_LINE, noModules, usesModuleSyntax, wrapProgram } from "./program.ts";
import { Rejections } from "./rejections.ts";
import { Stop } from "./stop.ts";
import type { Unsent } from "./unsent.ts";

export interface RunReport {
  output(said: Said): void;
  /** The guest computes nothing until a timer is due or a call is settled. */
  turn(said: Said, idle: GuestIdle): void;
  /** `sound` is false where the machine must not be used again. */
  ended(end: GuestEnd, said: Said, dropped: number, sound: boolean): void;
}

/** What it shares with the host's main thread. */
export interface Shared {
  /** Not zero once the guest is to be cancelled; set while this thread is busy. */
  readonly cancelled: Int32Array;
  readonly unsent: Unsent;
  readonly resumed: Resumed | null;
}

const EMIT = HOST_FUNCTIONS.emit.charCodeAt(0);
const CALL = HOST_FUNCTIONS.call.charCodeAt(0);
/** Each look at the clock moves it, so that waiting for it in a loop comes to an end. */
const CLOCK_STEP_MS = 0.01;
const JOBS_PER_CHECK = 1000;

/** One guest from its first line to its end. All of the guest's own state is in the machine's memory. */
export class GuestRun implements EngineHooks {
  readonly #machine: Machine;
  readonly #request: RunMessage;
  readonly #report: RunReport;
  readonly #cancelled: Int32Array;
  readonly #resumed: Resumed | null;
  /** How long it may run from `#startedAt` on. */
  #timeMs: number;
  readonly #output: Output;
  readonly #rejections: Rejections;
  /** When its active time began to count, and how much real time since the task's first start had passed then. */
  #startedAt = performance.now();
  #realAtStart = 0;
  #live: boolean;
  readonly #calls = new OpenCalls();
  #turns: number;
  #main: Box = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(machine: Machine, request: RunMessage, shared: Shared, report: RunReport) {
    const { cancelled, unsent, resumed } = shared;
    this.#machine = machine;
    this.#rejections = new Rejections(machine.engine);
    this.#request = request;
    this.#cancelled = cancelled;
    this.#resumed = resumed;
    this.#turns = resumed?.turn ?? 0;
    this.#timeMs = resumed?.timeMs ?? (request.live ? request.limits.timeoutMs : request.replayMs);
    this.#report = report;
    this.#live = request.live;
    this.#output = new Output(request.limits, unsent, (said) => report.output(said));
  }

  /** `code` is the program with its types stripped. */
  start(code: string): void {
    this.#guard(() => {
      this.#prepare();
      const fileNames = this.#machine.image.pointers.fileNames;
      const fileName = this.#request.typescript ? fileNames.ts : fileNames.js;
      const program = this.#machine.evaluate(wrapProgram(code), fileName, FIRST_LINE);
      if (this.#machine.isException(program)) this.#stopWithSyntaxError(code);
      this.#main = this.#machine.call(program, this.#input());
      if (this.#machine.isException(this.#main)) this.#stopWithException();
      this.#turn();
    });
  }

  /** Goes on from where the guest was kept. */
  restore(state: Uint8Array): void {
    this.#guard(() => {
      const machine = this.#machine;
      const { memoryBytes } = this.#request.limits;
      const snapshot = readSnapshot(state, machine.memoryBytes + memoryBytes + MEMORY_FOR_LAST_WORDS);
      machine.begin();
      machine.growTo(snapshot.memory);
      applySnapshot(machine.bytes, snapshot);
      machine.hooks = this;
      machine.engine.qjs_set_memory_limit(memoryLimit(memoryBytes));
      this.#main = snapshot.main;
      this.#calls.resumeAt(snapshot.open);
      this.#output.resumeAt(snapshot);
      this.#realAtStart = machine.readFloat(BOX_FLOATS.real);
      if (this.#live) this.#catchUp();
      if (this.#resumed === null) this.#turn();
    });
  }

  /** Gives the guest the outcome of a call. Timers that were due by then have fired before it, in every run. */
  settle(call: number, at: number, told: string): void {
    this.#guard(() => {
      const machine = this.#machine;
      const time = at - this.#request.clockStart;
      this.interrupt();
      for (let due = this.#due(); due >= 0 && due <= time; due = this.#due()) this.#fire();
      machine.writeFloat(BOX_FLOATS.elapsed, Math.max(machine.readFloat(BOX_FLOATS.elapsed), time));
      this.#calls.settle(call);
      const text = machine.newString(told);
      this.#callGlue("settle", text);
      machine.engine.qjs_free_value(text);
      this.#turn();
    });
  }

  tick(turn: number): void {
    if (turn !== this.#turns) return;
    this.#guard(() => {
      this.interrupt();
      if (this.#due() >= 0) this.#fire();
      this.#turn();
    });
  }

  /** All that was recorded has been given again: active time counts from now. */
  goLive(): void {
    if (this.#live) return;
    this.#live = true;
    this.#guard(() => {
      this.#startedAt = performance.now();
      this.#timeMs = this.#request.limits.timeoutMs;
      this.#catchUp();
      this.#turn();
    });
  }

  park(turn: number): void {
    if (turn !== this.#turns) return;
    this.#guard(() => {
      const machine = this.#machine;
      machine.writeFloat(BOX_FLOATS.real, this.#real());
      machine.engine.qjs_run_gc();
      const head = { main: this.#main, open: this.#calls.count, ...this.#output.printed };
      const { bytes, stackPointer } = machine.image;
      const state = takeSnapshot(machine.bytes, new Uint8Array(bytes), stackPointer, head);
      throw new Stop({ kind: "parked", state: state.toString("base64") });
    });
  }

  /** Ends a guest that waits; one that computes is ended by the flag. */
  cancel(): void {
    this.#finish({ kind: "cancelled" }, false);
  }

  // What the engine asks.

  call(name: number, count: number, args: number): number {
    const machine = this.#machine;
    if (name === CALL && count === 3) return this.#call(args);
    if (name !== EMIT || count !== 2) throw new Error("an unknown host function");
    const stream = machine.engine.qjs_get_float64(machine.view.getUint32(args, true)) === 2 ? 2 : 1;
    let printed = 0;
    const text = machine.readString(machine.view.getUint32(args + 4, true), (bytes) => {
      printed = bytes;
      return this.#output.room(bytes);
    });
    if (text === null) return 0;
    const now = performance.now();
    this.#output.add(stream, text, printed, now);
    if (this.#output.tooMuch) throw new Stop(failedEnd(printedTooMuch(this.#request.limits)));
    this.#output.flushIfDue(now);
    return machine.engine.qjs_get_undefined();
  }

  interrupt(): void {
    const now = performance.now();
    if (Atomics.load(this.#cancelled, 0) !== 0) throw new Stop({ kind: "cancelled" });
    if (now - this.#startedAt > this.#timeMs) throw new Stop(failedEnd(ranTooLong(this.#request.limits)));
    this.#machine.writeFloat(BOX_FLOATS.real, this.#realAtStart + now - this.#startedAt);
    this.#output.flushIfDue(now);
  }

  rejection(promise: Box, reason: Box, handled: boolean): void {
    this.#rejections.note(promise, reason, handled);
  }

  importModule(specifier: string): number {
    this.#machine.throwError(`there are no modules in the isolate: import(${JSON.stringify(specifier)}) cannot work`);
    return 0;
  }

  clock(monotonic: boolean): bigint {
    const elapsed = this.#machine.readFloat(BOX_FLOATS.elapsed) + CLOCK_STEP_MS;
    this.#machine.writeFloat(BOX_FLOATS.elapsed, elapsed);
    const micros = Math.round(elapsed * 1000);
    const start = monotonic ? 0 : this.#request.clockStart * 1000;
    return BigInt(Math.round(start) + micros) * 1000n;
  }

  #call(args: number): number {
    const machine = this.#machine;
    const id = machine.engine.qjs_get_float64(machine.view.getUint32(args, true));
    if (!Number.isSafeInteger(id) || id < 1) throw new Stop(failedEnd(madeBadCall("it has no number")), false);
    const path = this.#callText(machine.view.getUint32(args + 4, true), CALL_PATH_CHARS, "path");
    const input = this.#callText(machine.view.getUint32(args + 8, true), CALL_INPUT_CHARS, "input");
    if (path === null || input === null) return 0;
    const fault = this.#calls.add(id, path.length + input.length);
    if (fault !== null) throw new Stop(failedEnd(madeBadCall(fault)), false);
    const at = this.#request.clockStart + machine.readFloat(BOX_FLOATS.elapsed);
    this.#output.call({ id, path, input, at }, performance.now());
    return machine.engine.qjs_get_undefined();
  }

  /** The glue knows these limits and keeps them; a guest that got around it fails here, and not the worker. */
  #callText(value: Box, chars: number, what: string): string | null {
    const tooLong = () => new Stop(failedEnd(madeBadCall(`its ${what} has more than ${chars} characters`)), false);
    const text = this.#machine.readString(value, (bytes) => {
      if (bytes > 3 * chars) throw tooLong();
      return bytes;
    });
    if (text !== null && text.length > chars) throw tooLong();
    return text;
  }

  // The run.

  #real(): number {
    return this.#realAtStart + performance.now() - this.#startedAt;
  }

  /** Time that passed while the guest was not running passed for its timers all the same. */
  #catchUp(): void {
    this.#realAtStart = Math.max(this.#realAtStart, Date.now() - this.#request.clockStart);
    this.#machine.writeFloat(BOX_FLOATS.real, this.#realAtStart);
  }

  #due(): number {
    return this.#machine.readFloat(BOX_FLOATS.due);
  }

  #fire(): void {
    this.#callGlue("fire");
    this.#drain();
  }

  /** What a call of the glue answers is freed: nothing of it may stay behind in a snapshot. */
  #callGlue(entry: GlueEntry, argument?: Box): void {
    const answer = this.#machine.callGlue(entry, argument);
    if (this.#machine.isException(answer)) this.#stopWithException();
    this.#machine.engine.qjs_free_value(answer);
  }

  #prepare(): void {
    const { limits, clockStart, seed } = this.#request;
    const machine = this.#machine;
    machine.begin();
    machine.hooks = this;
    machine.engine.qjs_set_memory_limit(memoryLimit(limits.memoryBytes));
    machine.writeFloat(BOX_FLOATS.elapsed, 0);
    machine.writeFloat(BOX_FLOATS.start, clockStart);
    const digest = createHash("sha256").update(seed).digest();
    machine.writeWords(BOX_WORDS.random, digest.subarray(0, 16));
    machine.writeWords(BOX_WORDS.crypto, digest.subarray(16, 32));
  }

  #input(): Box {
    const { input } = this.#request;
    if (input === null) return this.#machine.image.pointers.undefined;
    const value = this.#machine.callGlue("parse", this.#machine.newString(input));
    if (this.#machine.isException(value)) this.#stopWithException();
    return value;
  }

  /** Runs what can run now, then ends the guest or waits for its next timer. */
  #turn(): void {
    this.#drain();
    const { engine } = this.#machine;
    const state = engine.qjs_promise_state(this.#main);
    if (state === PROMISE_FULFILLED) {
      this.#stopOnRejection();
      throw new Stop({ kind: "returned", output: this.#result(engine.qjs_promise_result(this.#main)) });
    }
    if (state !== PROMISE_PENDING) this.#stopWith(engine.qjs_promise_result(this.#main));
    this.#stopOnRejection();
    clearTimeout(this.#timer);
    const wake = this.#machine.readFloat(BOX_FLOATS.wake);
    if (wake < 0 && this.#calls.count === 0) throw new Stop(failedEnd(NEVER_SETTLES));
    this.#turns++;
    const timerMs = wake < 0 ? null : Math.max(0, wake - this.#real());
    const timerAt = wake < 0 ? null : this.#request.clockStart + this.#due();
    const waits = this.#calls.count > 0;
    this.#report.turn(this.#output.take(), { turn: this.#turns, waits, timerMs, timerAt });
    if (this.#live) this.#waitUntil(waits || wake < 0 ? Number.POSITIVE_INFINITY : wake);
  }

  #drain(): void {
    const { engine } = this.#machine;
    for (let jobs = 1; engine.qjs_is_job_pending() !== 0; jobs++) {
      if (engine.qjs_execute_pending_job() < 0) this.#stopWithException();
      if (jobs % JOBS_PER_CHECK === 0) this.interrupt();
    }
  }

  #waitUntil(wake: number): void {
    const left = this.#timeMs + 1 - (performance.now() - this.#startedAt);
    const wait = Math.max(0, Math.ceil(Math.min(wake - this.#real(), left)));
    this.#timer = setTimeout(() => this.#guard(() => this.#wakeAt(wake)), wait);
  }

  #wakeAt(wake: number): void {
    this.interrupt();
    if (this.#real() < wake) return this.#waitUntil(wake);
    this.#fire();
    this.#turn();
  }

  #result(value: Box): string | null {
    const machine = this.#machine;
    const text = machine.callGlue("serialize", value);
    if (machine.isException(text)) {
      const told = this.#describe(machine.engine.qjs_get_exception(), "the returned value cannot be written as JSON: ");
      throw new Stop(isOutOfMemory(told) ? failedEnd(returnedTooMuch(null, this.#request.limits)) : told);
    }
    if (machine.engine.qjs_is_undefined(text) !== 0) return null;
    const read = machine.readString(text, (bytes) => {
      if (bytes > this.#request.limits.resultBytes)
        throw new Stop(failedEnd(returnedTooMuch(bytes, this.#request.limits)));
      return bytes;
    });
    if (read === null) throw new Stop(failedEnd(returnedTooMuch(null, this.#request.limits)));
    return read;
  }

  #stopOnRejection(): void {
    const reason = this.#rejections.firstBut(this.#main);
    if (reason !== null) this.#stopWith(reason, "a promise was rejected and nobody handled it: ");
  }

  #stopWithSyntaxError(code: string): never {
    if (usesModuleSyntax(code)) {
      const told = this.#describe(this.#machine.engine.qjs_get_exception());
      if (told.kind === "failed" && told.message.startsWith("SyntaxError")) {
        throw new Stop({ ...told, message: noModules(code) });
      }
      throw new Stop(told);
    }
    this.#stopWithException();
  }

  #stopWithException(prefix = ""): never {
    this.#stopWith(this.#machine.engine.qjs_get_exception(), prefix);
  }

  #stopWith(thrown: Box, prefix = ""): never {
    throw new Stop(this.#describe(thrown, prefix));
  }

  #describe(thrown: Box, prefix = ""): GuestEnd {
    const { limits } = this.#request;
    // A guest that ran out of memory has none left to say so.
    this.#machine.engine.qjs_set_memory_limit(memoryLimit(limits.memoryBytes + MEMORY_FOR_LAST_WORDS));
    return describeThrown(this.#machine, thrown, prefix, limits);
  }

  #guard(work: () => void): void {
    if (this.#ended) return;
    try {
      work();
    } catch (error) {
      if (error instanceof Stop) this.#finish(error.end, error.sound);
      else this.#finish(trapEnd(error, this.#machine, this.#request.limits), false);
    }
  }

  #finish(end: GuestEnd, sound: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#report.ended(end, this.#output.take(), this.#output.dropped, sound && !this.#machine.grown);
  }
}

function isOutOfMemory(end: GuestEnd): boolean {
  return end.kind === "failed" && end.code === "OUT_OF_MEMORY";
}

/** The engine takes 32 bits. */
function memoryLimit(bytes: number): number {
  return Math.min(Math.max(bytes, 1), 0xfff0_0000);
}
