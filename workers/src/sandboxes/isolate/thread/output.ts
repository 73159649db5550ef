import type { GuestLimits } from "@airlock/shared/domain";
import type { CallTuple, OutputChunk } from "../messages.ts";
import type { Said } from "./messages.ts";
import type { Unsent } from "./unsent.ts";

const FLUSH_CHARS = 64 * 1024;
const FLUSH_MS = 25;

/** Bytes that a guest has printed since its start, in all its segments. */
export interface Printed {
  readonly printed: number;
  readonly kept: number;
}

/**
 * Gathers what a guest prints and calls, in order: output counted to the byte and joined by stream, all of it sent in
 * large pieces but never held for long.
 */
export class Output {
  readonly #limits: GuestLimits;
  readonly #unsent: Unsent;
  readonly #send: (said: Said) => void;
  #chunks: [1 | 2, string][] = [];
  #calls: CallTuple[] = [];
  /** How many of the chunks were there at the last call: those take no more text. */
  #closed = 0;
  #chars = 0;
  #since = 0;
  #printed = 0;
  #kept = 0;
  /** Bytes dropped by earlier segments: they have been told. */
  #told = 0;

  constructor(limits: GuestLimits, unsent: Unsent, send: (said: Said) => void) {
    this.#limits = limits;
    this.#unsent = unsent;
    this.#send = send;
    unsent.clear();
    unsent.dropped = 0;
  }

  /** A restored guest has printed before. */
  resumeAt({ printed, kept }: Printed): void {
    this.#printed = printed;
    this.#kept = kept;
    this.#told = printed - kept;
  }

  get printed(): Printed {
    return { printed: this.#printed, kept: this.#kept };
  }

  get dropped(): number {
    return this.#printed - this.#kept - this.#told;
  }

  get tooMuch(): boolean {
    return this.#printed > this.#limits.outputBytes;
  }

  /** How many bytes to keep of a text of so many. */
  room(bytes: number): number {
    // Once something was dropped, nothing later is kept: what is kept is a prefix of what was printed.
    if (this.#printed > this.#kept) return 0;
    return Math.max(0, Math.min(bytes, this.#limits.keptOutputBytes - this.#kept));
  }

  /** `text` is what there was room for, up to a whole character, of a text of so many bytes. */
  add(stream: 1 | 2, text: string, bytes: number, now: number): void {
    this.#kept += this.room(bytes) < bytes ? Buffer.byteLength(text) : bytes;
    this.#printed += bytes;
    if (this.#printed > this.#kept) this.#unsent.dropped = this.dropped;
    if (text === "") return;
    const last = this.#chunks.length > this.#closed ? this.#chunks.at(-1) : undefined;
    if (last?.[0] === stream) last[1] += text;
    else this.#chunks.push([stream, text]);
    const safe = this.#unsent.add(stream, text);
    this.#grow(text.length, now);
    if (!safe) this.flush();
  }

  /** `at` is the guest's own time of it. */
  call(call: { id: number; path: string; input: string; at: number }, now: number): void {
    const { id, path, input, at } = call;
    this.#closed = this.#chunks.length;
    this.#calls.push([id, path, input, this.#closed, at]);
    this.#grow(path.length + input.length, now);
  }

  #grow(chars: number, now: number): void {
    if (this.#chars === 0) this.#since = now;
    this.#chars += chars;
    if (this.#chars >= FLUSH_CHARS) this.flush();
  }

  /** Called while the guest computes. */
  flushIfDue(now: number): void {
    if (this.#chars > 0 && now - this.#since >= FLUSH_MS) this.flush();
  }

  flush(): void {
    if (this.#chars > 0) this.#send(this.take());
  }

  take(): Said {
    const chunks: OutputChunk[] = this.#chunks;
    const calls = this.#calls;
    this.#chunks = [];
    this.#calls = [];
    this.#closed = 0;
    this.#chars = 0;
    this.#unsent.clear();
    return { chunks, calls };
  }
}
