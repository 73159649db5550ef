import type { TaskFailure } from "@airlock/shared/domain";
import { assertNever } from "@airlock/shared/domain";
import { createHash } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import type { GuestChannel, GuestIdle, GuestOutcome, GuestProgram, RunningGuest, Settlement } from "../port.ts";
import { madeBadCall, printedTooMuch, ranTooLong, returnedTooMuch, tookTooMuchMemory } from "../rules/failures.ts";
import { isAgentError } from "../rules/guest-errors.ts";
import { OpenCalls } from "../rules/open-calls.ts";
import { OutputCount } from "../rules/output-count.ts";
import { settlementText } from "../settlement-text.ts";
import { JunkError, LineReader, writeLine } from "./lines.ts";
import type { AgentEnd, FromAgent, ToAgent } from "./protocol.ts";
import { readFromAgent } from "./read-from-agent.ts";
import type { Transport, TransportEnd } from "./transport.ts";

/** An agent that is not up by then never will be. */
const BOOT_MS = 120_000;
/** How long a killed sandbox may take to be gone: its release has its own means to make sure. */
const KILL_MS = 10_000;
/** Node's and the shell's last words, for the reason of a sandbox that never came up. */
const LAST_WORDS_CHARS = 2_000;

/** Runs a program on the agent at the other end; `memoryBytes` is the sandbox's own limit. Never throws. */
export function runOnChannel(
  transport: Transport,
  program: GuestProgram,
  channel: GuestChannel,
  signal: AbortSignal,
  { memoryBytes }: { readonly memoryBytes: number },
): RunningGuest {
  const run = new ChannelRun(transport, program, channel, memoryBytes);
  run.start(signal);
  return {
    outcome: run.outcome,
    settle: (settlement) => run.settle(settlement),
    tick: (idle) => run.tick(idle),
    goLive: () => run.goLive(),
    park: (idle) => run.park(idle),
  };
}

class ChannelRun {
  readonly #transport: Transport;
  readonly #program: GuestProgram;
  readonly #channel: GuestChannel;
  readonly #memoryBytes: number;
  readonly #lines = new LineReader();
  readonly #count: OutputCount;
  readonly #calls = new OpenCalls();
  readonly #open = new Set<number>();
  readonly #raw = { 1: new StringDecoder("utf8"), 2: new StringDecoder("utf8") };
  readonly #outcome = Promise.withResolvers<GuestOutcome>();
  #ready = false;
  #live: boolean;
  #lastCall = 0;
  #lastTurn = -1;
  #sent = 0;
  /** The last report of being idle, while nothing happened since. */
  #idle: number | null = null;
  /** How it ends, as soon as that is known; nothing but output is heard from then on. */
  #verdict: GuestOutcome | null = null;
  #clock: NodeJS.Timeout | undefined;
  #lastWords = "";

  constructor(transport: Transport, program: GuestProgram, channel: GuestChannel, memoryBytes: number) {
    this.#transport = transport;
    this.#program = program;
    this.#channel = channel;
    this.#memoryBytes = memoryBytes;
    this.#live = program.live;
    this.#count = new OutputCount(program.limits);
  }

  get outcome(): Promise<GuestOutcome> {
    return this.#outcome.promise;
  }

  start(signal: AbortSignal): void {
    const cancel = () => this.#decide({ kind: "cancelled" });
    signal.addEventListener("abort", cancel, { once: true });
    void this.#transport.ended.then((end) => {
      signal.removeEventListener("abort", cancel);
      this.#finish(end);
    });
    if (signal.aborted) return cancel();
    this.#clock = setTimeout(() => this.#lose(`the agent did not start within ${BOOT_MS} ms`), BOOT_MS);
    this.#transport.listen({
      data: (piece) => this.#hear(piece),
      raw: (stream, piece) => this.#print(stream, this.#raw[stream].write(piece)),
    });
    const { language, code, input, seed, clockStart, live } = this.#program;
    const digest = createHash("sha256").update(seed).digest("hex");
    this.#send(["start", { language, code, input, seed, digest, clockStart, live }]);
  }

  settle(settlement: Settlement): void {
    if (this.#verdict !== null || !this.#open.delete(settlement.id)) return;
    this.#calls.settle(settlement.id);
    this.#idle = null;
    this.#send(["settle", settlement.id, settlement.at, settlementText(settlement)]);
  }

  tick({ turn }: GuestIdle): void {
    if (this.#verdict !== null || turn !== this.#idle) return;
    this.#idle = null;
    this.#send(["tick", turn]);
  }

  goLive(): void {
    if (this.#verdict !== null || this.#live) return;
    this.#live = true;
    this.#idle = null;
    if (this.#ready) this.#startClock();
    this.#send(["live"]);
  }

  park({ turn }: GuestIdle): void {
    if (turn === this.#idle) this.#decide({ kind: "parked", kept: null });
  }

  #send(message: ToAgent): void {
    this.#sent++;
    this.#transport.send(writeLine(message));
  }

  #hear(piece: Buffer | string): void {
    try {
      for (const line of this.#lines.read(piece)) {
        this.#take(readFromAgent(line));
        // What it had said before it was stopped is output; what it says after its end is nothing.
        if (this.#verdict?.kind === "returned") return;
      }
    } catch (error) {
      if (!(error instanceof JunkError)) throw error;
      this.#fail({ code: "GUEST_ERROR", message: `the program broke the guest channel: ${error.message}` });
    }
  }

  #take(message: FromAgent): void {
    if (message[0] === "out") return this.#print(message[1], message[2].toWellFormed());
    if (this.#verdict !== null) return;
    if (message[0] === "ready") return this.#boot();
    if (!this.#ready) throw new JunkError(`a line of the kind "${message[0]}" before the agent was ready`);
    switch (message[0]) {
      case "call":
        return this.#call(message[1], message[2], message[3], message[4]);
      case "idle": {
        const [, turn, waits, timerMs, timerAt, taken] = message;
        if (turn <= this.#lastTurn) throw new JunkError("a report of being idle whose number did not rise");
        this.#lastTurn = turn;
        // Said before it heard the last of us: it moves again.
        if (taken < this.#sent) return;
        this.#idle = turn;
        return this.#channel.idle({ turn, waits, timerMs, timerAt });
      }
      case "done":
        return this.#done(message[1]);
      default:
        assertNever(message);
    }
  }

  #boot(): void {
    if (this.#ready) throw new JunkError("it was ready twice");
    this.#ready = true;
    this.#startClock();
  }

  /** Time counts from when the program can run; before `goLive` it is no active time, but it has an end, too. */
  #startClock(): void {
    const { limits, replayMs = limits.timeoutMs } = this.#program;
    clearTimeout(this.#clock);
    this.#clock = setTimeout(() => this.#fail(ranTooLong(limits)), this.#live ? limits.timeoutMs : replayMs);
  }

  #call(id: number, path: string, input: string, at: number): void {
    if (id <= this.#lastCall) throw new JunkError("a call whose number did not rise");
    this.#lastCall = id;
    const fault = this.#calls.add(id, path.length + input.length);
    if (fault !== null) return this.#fail(madeBadCall(fault));
    this.#open.add(id);
    this.#idle = null;
    this.#channel.call({ id, path, input, at });
  }

  #done(end: AgentEnd): void {
    const code = end.exitCode === null ? {} : { exitCode: end.exitCode };
    if (end.kind === "returned") {
      const bytes = end.output === null ? 0 : Buffer.byteLength(end.output);
      const { limits } = this.#program;
      if (bytes > limits.resultBytes) return this.#fail(returnedTooMuch(bytes, limits));
      return this.#decide({ kind: "returned", output: end.output, ...code });
    }
    const failure = {
      code: isAgentError(end.code) ? end.code : ("TOOL_FAILED" as const),
      message: end.message.toWellFormed(),
      ...(end.stack === null ? {} : { stack: end.stack.toWellFormed() }),
    };
    this.#decide({ kind: "failed", failure, ...code });
  }

  #print(stream: 1 | 2, text: string): void {
    if (!this.#ready) this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS_CHARS);
    if (text === "" || !this.#ready || this.#count.tooMuch) return;
    const kept = this.#count.take(text);
    if (kept !== "") this.#channel.output(stream === 1 ? "stdout" : "stderr", kept);
    if (this.#count.tooMuch) this.#fail(printedTooMuch(this.#program.limits));
  }

  #fail(failure: TaskFailure): void {
    this.#decide({ kind: "failed", failure });
  }

  #lose(reason: string): void {
    this.#decide({ kind: "lost", reason });
  }

  /** The first word about its end stands; the sandbox is ended at once, whatever still runs in it. */
  #decide(verdict: GuestOutcome): void {
    if (this.#verdict !== null) return;
    this.#verdict = verdict;
    clearTimeout(this.#clock);
    this.#clock = setTimeout(() => this.#finish({ kind: "gone", reason: "it could not be ended" }), KILL_MS);
    this.#transport.kill();
  }

  #finish(end: TransportEnd): void {
    clearTimeout(this.#clock);
    for (const stream of [1, 2] as const) this.#print(stream, this.#raw[stream].end());
    if (this.#count.dropped > 0) this.#channel.dropped(this.#count.dropped);
    this.#outcome.resolve(this.#settledBy(end));
  }

  #settledBy(end: TransportEnd): GuestOutcome {
    const verdict = this.#verdict;
    const memory: GuestOutcome = { kind: "failed", failure: tookTooMuchMemory({ memoryBytes: this.#memoryBytes }) };
    if (verdict !== null) {
      // A program whose helper was ended for memory may well have failed over it.
      const own = verdict.kind === "failed" && verdict.failure.code === "GUEST_ERROR";
      return own && end.kind === "out of memory" ? memory : verdict;
    }
    if (end.kind === "out of memory") return memory;
    if (end.kind === "gone") return { kind: "lost", reason: end.reason };
    const how = end.signal === null ? `exit code ${end.exitCode}` : end.signal;
    if (!this.#ready) {
      return { kind: "lost", reason: `the agent ended with ${how} before it was ready: ${this.#lastWords.trim()}` };
    }
    const failure: TaskFailure = { code: "GUEST_ERROR", message: `the program's process ended with ${how}` };
    return { kind: "failed", failure, ...(end.exitCode === null ? {} : { exitCode: end.exitCode }) };
  }
}
