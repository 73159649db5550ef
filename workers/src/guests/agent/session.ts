import { BOX_BYTES, BOX_FLOATS, BOX_WORDS } from "../javascript/box.ts";
import { CALL_INPUT_CHARS, CALL_PATH_CHARS } from "../javascript/call-limits.ts";
import { type Errors, makeErrors } from "../javascript/errors.ts";
import { captureIntrinsics, type Intrinsics } from "../javascript/intrinsics.ts";
import { makeRandom } from "../javascript/random.ts";
import { makeTimers } from "../javascript/timers.ts";
import { makeTools } from "../javascript/tools.ts";
import { findBun, replaceBunNames, replaceConsole } from "./bun.ts";
import { replaceClock } from "./clock.ts";
import type { Connection } from "./connection.ts";
import { describeThrown, type Failure, failure } from "./failure.ts";
import type { Message, Order } from "./order.ts";
import { compileProgram } from "./program.ts";
import { compileInBun } from "./program-in-bun.ts";
import { replaceCryptoGlobal, replaceCryptoModule } from "./randomness.ts";
import { replaceStandardOutput } from "./standard-output.ts";
import { replaceTimerModules, replaceTimers } from "./timers-of-node.ts";

type End = Failure | { readonly kind: "returned"; readonly output: string | null; readonly exitCode: number | null };

const NEVER_SETTLES =
  "the program waits for a promise that nothing can settle any more: no timer and no call is pending";
/** What may load a module, or more of `crypto` than its global: only then are the modules replaced. */
const LOADS_MODULES = /\b(?:import|require|getBuiltinModule|crypto)\b/;
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** What the agent needs of its world, taken before the program can change it. */
const own = {
  setImmediate,
  setTimeout,
  clearTimeout,
  now: Date.now,
  hrtime: process.hrtime.bigint,
  stringify: JSON.stringify,
  parse: JSON.parse,
  exit: (process as unknown as { reallyExit?: (code: number) => never }).reallyExit ?? process.exit.bind(process),
};

/** One JavaScript program from its first line to its end. */
export class Session {
  readonly #order: Order;
  readonly #connection: Connection;
  readonly #I: Intrinsics = captureIntrinsics();
  readonly #errors: Errors = makeErrors(this.#I);
  readonly #floats: Float64Array;
  readonly #timers: ReturnType<typeof makeTimers>;
  readonly #tools: ReturnType<typeof makeTools>;
  readonly #random: ReturnType<typeof makeRandom>;
  /** How much real time had passed for the guest, and when. */
  #realAtStart = 0;
  #realFrom = own.hrtime();
  #live: boolean;
  #turn = 0;
  /** Lines of the worker that it has followed; the first was the order. */
  #taken = 1;
  #open = 0;
  /** It has told that it is idle, and nothing came since. */
  #waits = false;
  #ended = false;
  #alarm: NodeJS.Timeout | undefined;
  readonly #inbox: Message[] = [];
  #busy = false;

  constructor(order: Order, connection: Connection) {
    this.#order = order;
    this.#connection = connection;
    this.#live = order.live;
    const buffer = new ArrayBuffer(BOX_BYTES);
    const floats = new Float64Array(buffer);
    const words = new Uint32Array(buffer);
    floats[BOX_FLOATS.start] = order.clockStart;
    const seed = Buffer.from(order.digest, "hex");
    for (let i = 0; i < 4; i++) {
      words[BOX_WORDS.random + i] = seed.readUInt32LE(4 * i);
      words[BOX_WORDS.crypto + i] = seed.readUInt32LE(16 + 4 * i);
    }
    this.#floats = floats;
    const { elapsed, real, wake, due } = BOX_FLOATS;
    this.#timers = makeTimers(this.#I, floats, elapsed, real, wake, due);
    this.#random = makeRandom(this.#I, words, BOX_WORDS.random, BOX_WORDS.crypto);
    const send = (id: number, path: string, input: string) => this.#call(id, path, input);
    this.#tools = makeTools(this.#I, this.#errors, send, CALL_INPUT_CHARS, CALL_PATH_CHARS);
  }

  run(): void {
    this.#hearOfEnds();
    this.#replaceWorld();
    try {
      const { code, input, language } = this.#order;
      const value: unknown = input === null ? undefined : own.parse(input);
      const bun = findBun();
      const program = bun === null ? compileProgram(code, language === "TYPESCRIPT") : compileInBun(bun, code);
      const require = process.getBuiltinModule("node:module").createRequire(`${process.cwd()}/task.js`);
      // After what it left in the queue of microtasks, among it rejections that nobody handles.
      program(value, require).then(
        (returned) => own.setImmediate(() => this.#finish(returned)),
        (error: unknown) => own.setImmediate(() => this.#fail(error)),
      );
    } catch (error) {
      this.#fail(error);
    }
  }

  /** One message after the other, each when the guest has drained after the one before. */
  take(message: Message): void {
    this.#waits = false;
    this.#connection.hold(false);
    this.#inbox.push(message);
    if (!this.#busy) void this.#work();
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let next = this.#inbox.shift(); next !== undefined; next = this.#inbox.shift()) await this.#follow(next);
    this.#busy = false;
  }

  async #follow(message: Message): Promise<void> {
    this.#taken++;
    if (message[0] === "settle") await this.#settle(message[2] as number, message[3] as string);
    else if (message[0] === "tick" && message[1] === this.#turn && this.#due >= 0) this.#fire();
    else if (message[0] === "live" && !this.#live) {
      this.#live = true;
      // Time that passed while the guest was not running passed for its timers all the same.
      this.#realAtStart = this.#I.max(this.#real(), own.now() - this.#order.clockStart);
      this.#realFrom = own.hrtime();
    }
    this.#arm();
    await drained();
  }

  /** Timers that were due by then have fired before the outcome, in every run. */
  async #settle(at: number, told: string): Promise<void> {
    const time = at - this.#order.clockStart;
    for (; this.#due >= 0 && this.#due <= time; await drained()) this.#fire();
    this.#floats[BOX_FLOATS.elapsed] = this.#I.max(this.#floats[BOX_FLOATS.elapsed] as number, time);
    this.#sync();
    this.#open--;
    this.#tools.settle(told);
  }

  #call(id: number, path: string, input: string): void {
    this.#open++;
    const at = this.#order.clockStart + (this.#floats[BOX_FLOATS.elapsed] as number);
    this.#connection.send(["call", id, path, input, at]);
    this.#arm();
  }

  // Time.

  #real(): number {
    return this.#realAtStart + Number(own.hrtime() - this.#realFrom) / 1e6;
  }

  #sync(): void {
    this.#floats[BOX_FLOATS.real] = this.#real();
  }

  get #due(): number {
    return this.#floats[BOX_FLOATS.due] as number;
  }

  get #wake(): number {
    return this.#floats[BOX_FLOATS.wake] as number;
  }

  #fire(): void {
    this.#sync();
    try {
      this.#timers.fire();
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Without open calls there is nothing to be ordered: its timers fire by themselves, also while a child process runs.
   * Before it is live they wait for the desk as soon as it is idle.
   */
  #arm(): void {
    own.clearTimeout(this.#alarm);
    this.#alarm = undefined;
    const wake = this.#wake;
    if (this.#ended || this.#open > 0 || wake < 0 || (this.#waits && !this.#live)) return;
    const wait = this.#I.max(0, wake - this.#real());
    this.#alarm = own.setTimeout(() => this.#wakeUp(), wait > LONGEST_TIMEOUT_MS ? LONGEST_TIMEOUT_MS : wait);
    this.#alarm.unref();
  }

  #wakeUp(): void {
    if (this.#real() < this.#wake) return this.#arm();
    this.#waits = false;
    this.#connection.hold(false);
    this.#fire();
    this.#arm();
  }

  // Ends.

  #hearOfEnds(): void {
    process.on("beforeExit", () => this.#idle());
    process.on("uncaughtException", (error) => this.#fail(error));
    process.on("unhandledRejection", (reason) => this.#fail(reason, "a promise was rejected and nobody handled it: "));
    process.exit = ((code?: number | string) => this.#exit(Number(code ?? process.exitCode ?? 0) & 255)) as never;
  }

  /** Nothing is left to do but to wait. */
  #idle(): void {
    if (this.#ended) return;
    this.#sync();
    const wake = this.#wake;
    if (wake < 0 && this.#open === 0) return this.#end(failure(NEVER_SETTLES));
    this.#turn++;
    const timerMs = wake < 0 ? null : this.#I.max(0, wake - this.#real());
    const timerAt = wake < 0 ? null : this.#order.clockStart + this.#due;
    this.#connection.send(["idle", this.#turn, this.#open > 0, timerMs, timerAt, this.#taken]);
    this.#connection.hold(true);
    this.#waits = true;
    this.#arm();
  }

  #finish(value: unknown): void {
    const exitCode = process.exitCode === undefined ? null : Number(process.exitCode);
    if (exitCode !== null && exitCode !== 0) return this.#exit(exitCode);
    try {
      this.#end({ kind: "returned", output: own.stringify(value) ?? null, exitCode });
    } catch (error) {
      this.#fail(error, "the returned value cannot be written as JSON: ");
    }
  }

  #exit(exitCode: number): void {
    if (exitCode === 0) return this.#end({ kind: "returned", output: null, exitCode });
    this.#end(failure(`the program exited with code ${exitCode}`, exitCode));
  }

  #fail(thrown: unknown, prefix = ""): void {
    this.#end(describeThrown(this.#I, this.#errors, thrown, prefix));
  }

  #end(how: End): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#connection.send(["done", how]);
    own.exit(0);
  }

  // The world that the program sees.

  #replaceWorld(): void {
    const timers = replaceTimers(this.#timers.globals, { sync: () => this.#sync(), changed: () => this.#arm() });
    const { random, crypto } = this.#random;
    Math.random = random;
    replaceClock(this.#floats, globalThis.setTimeout);
    replaceCryptoGlobal(crypto);
    replaceStandardOutput(this.#connection.send);
    this.#I.define(globalThis, "tools", this.#tools.tools, false);
    const bun = findBun();
    if (bun !== null) {
      replaceConsole();
      replaceBunNames(bun);
    }
    if (!LOADS_MODULES.test(this.#order.code)) return;
    replaceCryptoModule(crypto);
    replaceTimerModules(timers);
    void globalThis.performance;
    process.getBuiltinModule("node:module").syncBuiltinESMExports();
  }
}

function drained(): Promise<void> {
  return new Promise((resolve) => own.setImmediate(resolve));
}
