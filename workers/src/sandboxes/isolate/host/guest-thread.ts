import { Worker } from "node:worker_threads";
import type { BootImage } from "../engine/boot-image.ts";
import type { EngineModules } from "../engine/modules.ts";
import type { GuestEnd, RunMessage, ToGuest } from "../messages.ts";
import {
  MACHINES_PER_THREAD,
  type FromThread,
  type Resumed,
  type ThreadData,
  type ToThread,
} from "../thread/messages.ts";
import { Unsent } from "../thread/unsent.ts";

const ENTRY = new URL(`../thread/main${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export interface ThreadEvents {
  message(thread: GuestThread, message: FromThread): void;
  /** The thread is gone; `guest` is the one that it was running. */
  gone(thread: GuestThread, guest: RunningGuest | null, reason: string): void;
}

export interface RunningGuest {
  readonly request: RunMessage;
  readonly resumed: Resumed | null;
  /** Bytes of output that it dropped before it was resumed. */
  readonly droppedBefore: number;
  readonly startedAt: number;
  /** When the watchdog ends the thread, and with which end for the guest. */
  killAt: number;
  killEnd: GuestEnd;
  /** False once it has computed for a while, or waits: it then holds up nobody. */
  young: boolean;
  live: boolean;
  /** Since when it has been computing, or waits for a timer. */
  busySince: number;
  /** It waits for calls alone, since this turn; null while it computes or has a timer. */
  idleTurn: number | null;
  /** It is being moved off its thread; what the worker says meanwhile is kept for it. */
  mail: ToGuest[] | null;
}

/** One thread of the host with at most one guest. */
export class GuestThread {
  guest: RunningGuest | null = null;
  idleSince = performance.now();
  condemned = false;
  /** What its guest has printed last, should the thread die before it can say so. */
  readonly unsent = new Unsent();
  readonly #worker: Worker;
  readonly #cancelled = new Int32Array(new SharedArrayBuffer(4));
  /** The projects for which the thread has a machine ready; a guess, as a machine may have been thrown away. */
  readonly #projects = new Set<string>();

  constructor(modules: EngineModules, image: BootImage, events: ThreadEvents) {
    const workerData: ThreadData = { modules, image, cancelled: this.#cancelled, unsent: this.unsent.buffer };
    this.#worker = new Worker(ENTRY, {
      workerData,
      env: {},
      // The engine's own stack check comes first: 512 KiB of its stack need about 3 MB of ours.
      resourceLimits: { stackSizeMb: 8, maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 },
    });
    let reason = "the thread ended";
    this.#worker.on("message", (message: FromThread) => events.message(this, message));
    this.#worker.on("error", (error: Error) => (reason = error.message));
    this.#worker.on("exit", () => {
      const { guest } = this;
      this.guest = null;
      events.gone(this, guest, reason);
    });
  }

  knows(project: string): boolean {
    return this.#projects.has(project);
  }

  run(guest: RunningGuest, stripped: string | null): void {
    this.guest = guest;
    Atomics.store(this.#cancelled, 0, 0);
    this.#remember(guest.request.project);
    this.#post({ type: "run", request: guest.request, stripped, resumed: guest.resumed });
  }

  tell(message: Exclude<ToThread, { type: "run" | "cancel" }>): void {
    this.#post(message);
  }

  cancel(): void {
    Atomics.store(this.#cancelled, 0, 1);
    this.#post({ type: "cancel" });
  }

  /** Stops even a native loop that never asks whether to go on. */
  kill(): void {
    this.condemned = true;
    void this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #remember(project: string): void {
    this.#projects.delete(project);
    this.#projects.add(project);
    if (this.#projects.size > MACHINES_PER_THREAD) this.#projects.delete(this.#projects.keys().next().value as string);
  }
}
