import { DEFAULT_GUEST_LIMITS, type GuestLimits, type Language, type TaskErrorCode } from "@airlock/shared/domain";
import type {
  CallResult,
  GuestCall,
  GuestIdle,
  GuestOutcome,
  KeptState,
  Lease,
  LeaseRequest,
  OutputStream,
  RunningGuest,
  SandboxProvider,
} from "../src/sandboxes/port.ts";
import { leaseRequest } from "./lease-request.ts";

export interface ProgramOptions {
  readonly code: string;
  readonly language?: Language;
  readonly input?: string | null;
  readonly seed?: string;
  readonly clockStart?: number;
  readonly limits?: Partial<GuestLimits>;
  readonly replayMs?: number;
  readonly kept?: KeptState | null;
  readonly live?: boolean;
  readonly projectId?: string;
  /** Beside the project. */
  readonly lease?: Partial<LeaseRequest>;
  readonly signal?: AbortSignal;
  /** Called for each piece of output as it comes, with the lease that the program runs on. */
  readonly onOutput?: (text: string, lease: Lease) => void;
  /** Called for each call as it comes; without it, the test asks for them with `nextCall`. */
  readonly onCall?: (call: GuestCall, guest: DrivenGuest) => void;
  /** Called before the program is started. */
  readonly onLease?: (lease: Lease) => Promise<void>;
}

export interface ProgramRun {
  readonly outcome: GuestOutcome;
  /** In the order in which it came; neighbours of one stream are joined. */
  readonly output: readonly (readonly [OutputStream, string])[];
  readonly stdout: string;
  readonly stderr: string;
  readonly dropped: number;
}

/** One thing that a guest said. */
export type Heard =
  | readonly [OutputStream, string]
  | readonly ["dropped", number]
  | readonly ["call", GuestCall]
  | readonly ["idle", GuestIdle];

interface About {
  /** Milliseconds since 1970; the guest's start where it is not given. */
  readonly at?: number;
  readonly meta?: Record<string, unknown>;
}

/** A guest on a lease of its own, with the test in the place of the desk. */
export interface DrivenGuest {
  readonly lease: Lease;
  readonly running: RunningGuest;
  /** All that it said, in order; neighbours of one stream are joined. */
  readonly heard: readonly Heard[];
  readonly calls: readonly GuestCall[];
  /** The next call that was not asked for yet; throws where the guest ends first. */
  nextCall(): Promise<GuestCall>;
  /** The same for a report of being idle. */
  nextIdle(): Promise<GuestIdle>;
  give(call: Pick<GuestCall, "id">, value?: unknown, about?: About): void;
  refuse(call: Pick<GuestCall, "id">, code: TaskErrorCode, message: string, about?: About): void;
  /** Parks it; throws where it ends in another way. */
  park(idle: GuestIdle): Promise<KeptState | null>;
  /** Its end; the lease is released. */
  ended(): Promise<ProgramRun>;
}

/** The one place in the tests that knows how a lease is driven: a change of the port is a change here. */
export async function startGuest(provider: SandboxProvider, options: ProgramOptions): Promise<DrivenGuest> {
  const { code, language = "JAVASCRIPT", input = null, seed = "00", clockStart = 1_700_000_000_000 } = options;
  const { projectId = "project", signal = new AbortController().signal, kept = null, live = true } = options;
  const limits = { ...DEFAULT_GUEST_LIMITS, ...options.limits };
  const lease = await provider.acquire(leaseRequest({ projectId, ...options.lease }));
  const heard: Heard[] = [];
  const calls = new Mailbox<GuestCall>();
  const idles = new Mailbox<GuestIdle>();
  const early: GuestCall[] = [];
  const channel = {
    output: (stream: OutputStream, text: string) => {
      const last = heard.at(-1);
      if (last?.[0] === stream) heard[heard.length - 1] = [stream, last[1] + text];
      else heard.push([stream, text]);
      options.onOutput?.(text, lease);
    },
    dropped: (bytes: number) => void heard.push(["dropped", bytes]),
    call: (call: GuestCall) => {
      heard.push(["call", call]);
      if (options.onCall === undefined) return calls.put(call);
      if (guest === null) early.push(call);
      else options.onCall(call, guest);
    },
    idle: (idle: GuestIdle) => {
      heard.push(["idle", idle]);
      idles.put(idle);
      // A live guest that waits for calls has its timers fired for it.
      if (isLive && idle.waits && idle.timerMs !== null) setTimeout(() => running?.tick(idle), idle.timerMs);
    },
  };
  let guest: DrivenGuest | null = null;
  let running: RunningGuest | null = null;
  let isLive = live;
  try {
    await options.onLease?.(lease);
    const program = { language, code, input, seed, clockStart, limits, kept, live };
    const replay = options.replayMs === undefined ? {} : { replayMs: options.replayMs };
    const started = lease.start({ ...program, ...replay }, channel, signal);
    const goLive = (): void => {
      isLive = true;
      started.goLive();
    };
    running = { ...started, goLive };
    void running.outcome.then((outcome) => {
      calls.close(outcome);
      idles.close(outcome);
    });
    guest = drive(lease, running, { heard, calls, idles, clockStart });
    for (const call of early) options.onCall?.(call, guest);
    return guest;
  } catch (error) {
    await lease.release();
    throw error;
  }
}

interface Hearing {
  readonly heard: readonly Heard[];
  readonly calls: Mailbox<GuestCall>;
  readonly idles: Mailbox<GuestIdle>;
  readonly clockStart: number;
}

function drive(lease: Lease, running: RunningGuest, { heard, calls, idles, clockStart }: Hearing): DrivenGuest {
  const settle = ({ id }: Pick<GuestCall, "id">, result: CallResult, { at = clockStart, meta = {} }: About = {}) =>
    running.settle({ id, at, result, meta });
  const end = async (): Promise<ProgramRun> => {
    try {
      const outcome = await running.outcome;
      const joined: [OutputStream, string][] = [];
      for (const each of heard) {
        if (each[0] !== "stdout" && each[0] !== "stderr") continue;
        const last = joined.at(-1);
        if (last?.[0] === each[0]) last[1] += each[1];
        else joined.push([each[0], each[1]]);
      }
      const on = (stream: OutputStream) => joined.map(([from, text]) => (from === stream ? text : "")).join("");
      const dropped = heard.reduce((sum, each) => sum + (each[0] === "dropped" ? each[1] : 0), 0);
      return { outcome, output: joined, stdout: on("stdout"), stderr: on("stderr"), dropped };
    } finally {
      await lease.release();
    }
  };
  return {
    lease,
    running,
    heard,
    get calls() {
      return heard.flatMap((each) => (each[0] === "call" ? [each[1]] : []));
    },
    nextCall: () => calls.take(),
    nextIdle: () => idles.take(),
    give: (call, value, about) =>
      settle(call, { ok: true, value: value === undefined ? null : JSON.stringify(value) }, about),
    refuse: (call, code, message, about) => settle(call, { ok: false, code, message }, about),
    park: async (idle) => {
      running.park(idle);
      const { outcome } = await end();
      if (outcome.kind !== "parked") throw new Error(`not parked: ${JSON.stringify(outcome)}`);
      return outcome.kept;
    },
    ended: end,
  };
}

/** What has come and was not taken yet. */
class Mailbox<T> {
  readonly #items: T[] = [];
  readonly #waiting: PromiseWithResolvers<T>[] = [];
  #end: GuestOutcome | null = null;

  put(item: T): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#items.push(item);
    else waiting.resolve(item);
  }

  async take(): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return item;
    if (this.#end !== null) throw ended(this.#end);
    const waiting = Promise.withResolvers<T>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  close(outcome: GuestOutcome): void {
    this.#end = outcome;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(ended(outcome));
  }
}

function ended(outcome: GuestOutcome): Error {
  return new Error(`the guest has ended: ${JSON.stringify(outcome)}`);
}
