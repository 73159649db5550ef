import type { GuestLimits, TaskErrorCode } from "@airlock/shared/domain";

/** What the worker process tells an isolate host. */
export type ToHost = RunMessage | CancelMessage | SettleMessage | TickMessage | LiveMessage | ParkMessage;

/** What is said to a guest that runs. */
export type ToGuest = Exclude<ToHost, { type: "run" | "cancel" }>;

export interface RunMessage {
  readonly type: "run";
  /** Unique within one host process. */
  readonly id: number;
  readonly project: string;
  readonly typescript: boolean;
  readonly code: string;
  readonly input: string | null;
  readonly seed: string;
  readonly clockStart: number;
  /** Base64 of the state to go on from. */
  readonly state: string | null;
  readonly live: boolean;
  readonly limits: GuestLimits;
  /** How long it may run before it is live. */
  readonly replayMs: number;
}

export interface CancelMessage {
  readonly type: "cancel";
  readonly id: number;
}

export interface SettleMessage {
  readonly type: "settle";
  readonly id: number;
  /** The guest's number for the call. */
  readonly call: number;
  readonly at: number;
  /** JSON text that the guest's glue takes. */
  readonly told: string;
}

export interface TickMessage {
  readonly type: "tick";
  readonly id: number;
  readonly turn: number;
}

export interface LiveMessage {
  readonly type: "live";
  readonly id: number;
}

export interface ParkMessage {
  readonly type: "park";
  readonly id: number;
  readonly turn: number;
}

/** What an isolate host tells the worker. The worker trusts none of it: see `readFromHost`. */
export type FromHost = ReadyMessage | OutputMessage | TurnMessage | EndMessage;

export interface ReadyMessage {
  readonly type: "ready";
  readonly image: string;
  /** What the host process finds around itself, for the probe. */
  readonly environment: readonly string[];
  readonly network: readonly string[];
  readonly files: readonly string[];
}

export interface OutputMessage {
  readonly type: "output";
  readonly id: number;
  readonly chunks: readonly OutputChunk[];
  readonly calls: readonly CallTuple[];
}

/** The guest has run as far as it can. */
export interface TurnMessage extends Omit<OutputMessage, "type"> {
  readonly type: "turn";
  readonly turn: number;
  readonly waits: boolean;
  readonly timerMs: number | null;
  readonly timerAt: number | null;
}

export interface EndMessage extends Omit<OutputMessage, "type"> {
  readonly type: "end";
  /** Bytes printed beyond `keptOutputBytes`, counted and not sent. */
  readonly dropped: number;
  readonly end: GuestEnd;
}

/** 1 is stdout, 2 is stderr. */
export type OutputChunk = readonly [stream: 1 | 2, text: string];

/** `shown` is how many of the message's chunks the guest printed before the call, `at` when it made it. */
export type CallTuple = readonly [id: number, path: string, input: string, shown: number, at: number];

export type GuestEnd =
  | { readonly kind: "returned"; readonly output: string | null }
  | { readonly kind: "failed"; readonly code: TaskErrorCode; readonly message: string; readonly stack?: string }
  | { readonly kind: "cancelled" }
  /** Base64. */
  | { readonly kind: "parked"; readonly state: string }
  | { readonly kind: "lost"; readonly reason: string };
