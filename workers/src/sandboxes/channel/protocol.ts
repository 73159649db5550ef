import type { Language, TaskErrorCode } from "@airlock/shared/domain";

/**
 * The guest channel: lines of JSON, ASCII only (a transport may cut bytes anywhere, or carry text alone), one array a
 * line. `docs/decisions/0012-one-guest-channel.md` has the reasons.
 */

/** A longer line is junk: the largest honest one is a result of 1 MiB, every character of it escaped. */
export const MAX_LINE_CHARS = 16 * 1024 * 1024;
/** Output is cut into pieces of at most this many characters. */
export const OUTPUT_CHARS = 64 * 1024;

/** What the worker tells the agent. */
export type ToAgent =
  /** Once, and first. It may be sent before the agent is ready: it waits in the channel. */
  | readonly ["start", StartOrder]
  /** The outcome of call `id`: the guest's clock jumps to `at`; `told` is what the guest's glue takes, as JSON text. */
  | readonly ["settle", id: number, at: number, told: string]
  /** Fires the first timer, if nothing happened since that report of being idle. */
  | readonly ["tick", turn: number]
  | readonly ["live"];

export interface StartOrder {
  readonly language: Language;
  readonly code: string;
  /** JSON text. */
  readonly input: string | null;
  readonly seed: string;
  /** SHA-256 of `seed`, hex: what the random sequences of JavaScript begin with, in every sandbox alike. */
  readonly digest: string;
  readonly clockStart: number;
  readonly live: boolean;
}

/** What the agent tells the worker, which trusts none of it. */
export type FromAgent =
  /** It has booted: time counts from here. Said before it looks for its order; warm sandboxes wait here. */
  | readonly ["ready"]
  /** 1 is stdout, 2 is stderr. */
  | readonly ["out", stream: 1 | 2, text: string]
  /** `input` is JSON text, `at` the guest's own clock. */
  | readonly ["call", id: number, path: string, input: string, at: number]
  /**
   * As `GuestIdle`. `taken` is how many of the worker's lines it had taken: a report that does not know of the last one is
   * of a guest that moves again, and does not count. Each line is followed by a report, unless the guest goes on or ends.
   */
  | readonly ["idle", turn: number, waits: boolean, timerMs: number | null, timerAt: number | null, taken: number]
  /** The last line. */
  | readonly ["done", AgentEnd];

export type AgentEnd =
  | { readonly kind: "returned"; readonly output: string | null; readonly exitCode: number | null }
  | {
      readonly kind: "failed";
      readonly code: TaskErrorCode;
      readonly message: string;
      readonly stack: string | null;
      readonly exitCode: number | null;
    };
