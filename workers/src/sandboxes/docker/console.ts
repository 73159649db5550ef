import type { Duplex } from "node:stream";
import { Demultiplexer } from "./demultiplex.ts";

/** What waits to be read before the engine is made to wait. */
const WAITING_BYTES = 1024 * 1024;

/** Standard input, output and error of a container, over one stream to the engine. One reader at a time. */
export class Console {
  readonly #stream: Duplex;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #ended = false;
  #wake = () => {};
  #early: Buffer[] = [];
  #onError: ((piece: Buffer) => void) | null = null;

  constructor(stream: Duplex) {
    this.#stream = stream;
    const demultiplexer = new Demultiplexer(8);
    stream.on("data", (piece: Buffer) => {
      for (const { stream: from, payload } of demultiplexer.read(piece)) this.#take(from, payload);
    });
    const end = () => {
      this.#ended = true;
      this.#wake();
    };
    stream.on("end", end).on("error", end).on("close", end);
  }

  get ended(): boolean {
    return this.#ended;
  }

  write(data: Buffer | string): void {
    if (this.#stream.writable) this.#stream.write(data);
  }

  /** The next piece of standard output; null once all is over, or when nothing came for `patienceMs`. */
  async read(patienceMs?: number): Promise<Buffer | null> {
    while (this.#waiting.length === 0 && !this.#ended) {
      if (!(await this.#something(patienceMs))) return null;
    }
    const piece = this.#waiting.shift() ?? null;
    if (piece !== null) {
      this.#waitingBytes -= piece.length;
      if (this.#waitingBytes < WAITING_BYTES) this.#stream.resume();
    }
    return piece;
  }

  /** Puts back what a reader has no use for. */
  unread(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#waiting.unshift(piece);
    this.#waitingBytes += piece.length;
  }

  hearErrors(hear: (piece: Buffer) => void): void {
    this.#onError = hear;
    for (const piece of this.#early.splice(0)) hear(piece);
  }

  /** Who comes next hears what is said from now on. */
  forgetErrors(): void {
    this.#onError = null;
    this.#early.splice(0);
  }

  close(): void {
    this.#stream.destroy();
  }

  #take(from: number, payload: Buffer): void {
    if (from === 2) {
      if (this.#onError === null) this.#early.push(payload);
      else this.#onError(payload);
      return;
    }
    this.#waiting.push(payload);
    this.#waitingBytes += payload.length;
    if (this.#waitingBytes >= WAITING_BYTES) this.#stream.pause();
    this.#wake();
  }

  async #something(patienceMs: number | undefined): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#wake = () => resolve(true);
    const timer = patienceMs === undefined ? undefined : setTimeout(() => resolve(false), patienceMs);
    const came = await promise;
    clearTimeout(timer);
    return came;
  }
}
