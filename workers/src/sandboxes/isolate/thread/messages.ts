import type { BootImage } from "../engine/boot-image.ts";
import type { EngineModules } from "../engine/modules.ts";
import type { CallTuple, GuestEnd, OutputChunk, RunMessage } from "../messages.ts";

export const MACHINES_PER_THREAD = 4;

export interface ThreadData {
  readonly modules: EngineModules;
  readonly image: BootImage;
  /** One word of shared memory, see `GuestRun`. */
  readonly cancelled: Int32Array;
  /** The memory of `Unsent`. */
  readonly unsent: SharedArrayBuffer;
}

/** A guest that had left its thread for a while. It is not told again that it waits: something came for it. */
export interface Resumed {
  /** Its last report of being idle. */
  readonly turn: number;
  /** What is left of its time. */
  readonly timeMs: number;
}

export type ToThread =
  | {
      readonly type: "run";
      readonly request: RunMessage;
      /** The program without its types, where the host has stripped it before. */
      readonly stripped: string | null;
      readonly resumed: Resumed | null;
    }
  | { readonly type: "cancel" }
  | { readonly type: "settle"; readonly call: number; readonly at: number; readonly told: string }
  | { readonly type: "tick"; readonly turn: number }
  | { readonly type: "live" }
  | { readonly type: "park"; readonly turn: number };

/** What a guest has printed and called since it was last heard of. */
export interface Said {
  readonly chunks: readonly OutputChunk[];
  readonly calls: readonly CallTuple[];
}

export type FromThread =
  | { readonly type: "online" }
  | { readonly type: "output"; readonly id: number; readonly said: Said }
  | {
      readonly type: "turn";
      readonly id: number;
      readonly said: Said;
      readonly turn: number;
      readonly waits: boolean;
      readonly timerMs: number | null;
      readonly timerAt: number | null;
    }
  | {
      readonly type: "ended";
      readonly id: number;
      readonly end: GuestEnd;
      readonly said: Said;
      readonly dropped: number;
      readonly stripped: string | undefined;
    };
