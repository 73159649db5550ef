import type { GuestLimits, Language, SandboxLimits, TaskErrorCode, TaskFailure } from "@airlock/shared/domain";
import type { z } from "zod";

/**
 * The port behind which every sandbox backend stands: one folder a provider, `create<Name>Provider(config)` as its
 * only door. `conformance.ts` is the definition of done for a new one.
 */
export interface SandboxProvider {
  readonly name: string;
  readonly capabilities: ProviderCapabilities;
  /** What an environment may configure. Its JSON Schema is published, so that the gateway can check with it. */
  readonly config: z.ZodType;
  /** Measures what this machine enforces. Called once, before any lease; what it cannot prove it does not claim. */
  probe(): Promise<ProbeResult>;
  /**
   * Names what a configuration stands for at this moment, where that can change under its words: the content of an image.
   * All runs of a task get the first one's pin. Absent: nothing can change. Throws `LeaseError`.
   */
  pin?(config: unknown): Promise<string>;
  /**
   * Measures what an environment's configuration adds to `probe`: another runtime, an image, limits of its own. Absent:
   * nothing. The report is then the task's. What a pin names may be gone: then it is not available.
   */
  prove?(config: unknown, limits: SandboxLimits, pin: string | null): Promise<ProbeResult>;
  /** One sandbox for one task. Throws `LeaseError` when none can be had. */
  acquire(request: LeaseRequest): Promise<Lease>;
  /** The leases of all sandboxes that exist where this provider makes them, whichever worker made them. */
  leftovers(): Promise<readonly string[]>;
  /** Destroys a lease's sandbox with all that is in it; one that is gone is fine. Throws where it may still exist. */
  destroy(leaseId: string): Promise<void>;
  /** Ends everything that the provider started. Leases still held end as `lost`. */
  close(): Promise<void>;
}

export interface ProviderCapabilities {
  readonly languages: readonly Language[];
  /** How a waiting guest is kept: its state, or a re-run of its program. */
  readonly keptBy: "snapshot" | "replay";
  /** Whether a guest has a work area: files in and out, layers, languages beside JavaScript. */
  readonly workArea: boolean;
  /** Whether its sandboxes can outlive their worker: then each lease is recorded before it is acquired. */
  readonly outlivesWorker: boolean;
  /** Whether its leases have `retain`. Absent: no. */
  readonly retains?: boolean;
  /** Whether its leases have `rest` and `reuse`. Absent: no. */
  readonly reuses?: boolean;
}

export type ProbeResult =
  /** `image` names the build whose kept guests `start` can go on from; null: none, each is run again from its start. */
  | { readonly available: true; readonly isolation: IsolationReport; readonly image: Buffer | null }
  | { readonly available: false; readonly reason: string };

export interface IsolationReport {
  readonly provider: string;
  readonly level: "wasm" | "process" | "container" | "gvisor" | "microvm" | "none";
  /** What was proved at start: `{memory: true, network: true, …}`. */
  readonly enforced: Readonly<Record<string, unknown>>;
}

export interface LeaseRequest {
  /** A UUID; the sandbox carries it wherever it exists, so that what a lost worker left behind is found. */
  readonly leaseId: string;
  readonly taskId: string;
  /** A sandbox that served one project never serves another. */
  readonly projectId: string;
  /** What it is going to run, where that is known: a warm sandbox may have its agent ready. */
  readonly language?: Language;
  /** The environment's configuration, as `config` parsed it. */
  readonly config: unknown;
  /** What the configuration has to stand for; null or absent: what it does now. */
  readonly pin?: string | null;
  readonly limits: SandboxLimits;
  /** What is in the work area when the program starts. */
  readonly files: readonly InputFile[];
  readonly layers: readonly Layer[];
}

export interface InputFile {
  /** Relative to the work area, without `..`, links or empty parts; checked by whoever made the request. */
  readonly path: string;
  readonly content: Buffer;
}

/**
 * A folder of this worker's machine that a sandbox sees read-only, or as a copy that nobody else sees. One whose target
 * is the work area itself is what the work area begins with: a copy, the guest's own to change, below `files`.
 */
export interface Layer {
  readonly source: string;
  /** Where in the sandbox; absolute. */
  readonly target: string;
}

/** A regular file that a program left in its work area. Its content is read before the next one is asked for. */
export interface OutputFile {
  readonly path: string;
  readonly size: number;
  content(): AsyncIterable<Buffer>;
}

/** Bounds of what is taken out of a work area; what is beyond them is left and named. */
export interface OutputBounds {
  readonly files: number;
  readonly fileBytes: number;
  readonly totalBytes: number;
  onLeft(path: string, reason: string): void;
}

export interface Lease {
  /** Runs the program, from its start or from where it was kept. Called once per lease. */
  start(program: GuestProgram, channel: GuestChannel, signal: AbortSignal): RunningGuest;
  /**
   * What the program has made or changed in its work area; called after its end, before `release`. Links, devices,
   * FIFOs and sockets are left, and never followed or opened.
   */
  outputs(bounds: OutputBounds): AsyncIterable<OutputFile>;
  /** Gives the sandbox back. Throws where it may still exist: it is destroyed later by its lease. Safe to call more than once, in every state. */
  release(): Promise<void>;
  /**
   * Leaves the sandbox as it is, without its program, for people to look at; `close` and `release` do nothing to it any
   * more, `destroy` ends it. Called after the guest's end, instead of `release`.
   */
  retain?(): Promise<void>;
  /**
   * Ends every process of the guest, and proves that; leaves its files for another task of the same session. Called after
   * the guest's end and `outputs`, instead of `release`, which destroys it also now. Throws where it cannot be sure.
   */
  rest?(): Promise<void>;
  /**
   * What rests, as the lease that the request names, for one guest more: with the request's files over what is there, and
   * all else (configuration, limits, layers) as it was. Throws where that cannot be had; then this lease is to be released.
   */
  reuse?(request: LeaseRequest): Promise<Lease>;
}

export interface RunningGuest {
  /** Never rejects for anything that the guest does; the start's signal ends the guest and gives `cancelled`. */
  readonly outcome: Promise<GuestOutcome>;
  /** Gives the guest the outcome of one of its calls. */
  settle(settlement: Settlement): void;
  /**
   * Fires the guest's first timer, if nothing happened since this report of it being idle. Before `goLive`, and while
   * the guest waits for calls, its timers fire only so: the order of timers and outcomes is the desk's.
   */
  tick(idle: GuestIdle): void;
  /** What was recorded has all been given: from now on time counts. */
  goLive(): void;
  /** Keeps the guest and ends it, if nothing happened since this report of it being idle; else does nothing. */
  park(idle: GuestIdle): void;
}

export interface GuestProgram {
  readonly language: Language;
  /** The author's own text: body of an async function. */
  readonly code: string;
  /** JSON text of `input`, or null where none was given. */
  readonly input: string | null;
  /** Hex; the same seed gives the same random sequence in every run of the task. */
  readonly seed: string;
  /** Milliseconds since 1970 at the task's first start: where the guest's clock begins in every run. */
  readonly clockStart: number;
  /** Where to go on from; null: from the start. */
  readonly kept: KeptState | null;
  /** False while recorded outcomes are given again: see `goLive`. */
  readonly live: boolean;
  /** `timeoutMs` is what is left of the task's active time. */
  readonly limits: GuestLimits;
  /** How long it may run before `goLive`, which is no active time; as long as after it where this is not given. */
  readonly replayMs?: number;
}

/** A guest's state between two segments; only the provider that made it can read it. */
export interface KeptState {
  /** Names the build that `state` belongs to. */
  readonly image: Buffer;
  readonly state: Buffer;
}

export type OutputStream = "stdout" | "stderr";

/** What a running guest sends to the worker, in order. */
export interface GuestChannel {
  /** Text printed by the guest, in the order printed over both streams; may hold several lines or part of one. */
  output(stream: OutputStream, text: string): void;
  /** Output past `keptOutputBytes` that was counted and not sent. */
  dropped(bytes: number): void;
  /** `await tools.…`: answered by `settle`. */
  call(call: GuestCall): void;
  /** The guest can do nothing by itself but wait. */
  idle(idle: GuestIdle): void;
}

export interface GuestCall {
  /** The guest's own number for it: 1, 2, 3 … */
  readonly id: number;
  readonly path: string;
  /** JSON text. */
  readonly input: string;
  /** The guest's own clock, in milliseconds since 1970: its outcome comes no earlier. */
  readonly at: number;
}

export interface GuestIdle {
  /** Which report this is; `park` and `tick` name it. */
  readonly turn: number;
  /** Whether it waits for calls; if not, and live, its timers fire by themselves. */
  readonly waits: boolean;
  /** Milliseconds until its first timer is due; null where it has none. */
  readonly timerMs: number | null;
  /** The same on the guest's own clock, in milliseconds since 1970. */
  readonly timerAt: number | null;
}

/** The outcome of a call, on its way into the guest. */
export interface Settlement {
  readonly id: number;
  /** Milliseconds since 1970: the guest's clock jumps there. */
  readonly at: number;
  readonly result: CallResult;
  /** What the guest may read about the call beside its result. */
  readonly meta: Readonly<Record<string, unknown>>;
}

export type CallResult =
  /** JSON text; null where the tool answered nothing. */
  | { readonly ok: true; readonly value: string | null }
  | { readonly ok: false; readonly code: TaskErrorCode; readonly message: string };

export type GuestOutcome =
  /** `output` is JSON text; null where the program returned undefined. */
  | { readonly kind: "returned"; readonly output: string | null; readonly exitCode?: number }
  | { readonly kind: "failed"; readonly failure: TaskFailure; readonly exitCode?: number }
  | { readonly kind: "cancelled" }
  /** Kept, as `park` asked; null: the next segment runs the program again. */
  | { readonly kind: "parked"; readonly kept: KeptState | null }
  /** The sandbox went away through no proven fault of this guest: the task may be run again from its start. */
  | { readonly kind: "lost"; readonly reason: string };

/** No sandbox could be had; one with a code says that trying again cannot help. */
export class LeaseError extends Error {
  override readonly name = "LeaseError";
  readonly code: TaskErrorCode | null;
  constructor(
    message: string,
    { code = null, ...options }: ErrorOptions & { readonly code?: TaskErrorCode | null } = {},
  ) {
    super(message, options);
    this.code = code;
  }
}
