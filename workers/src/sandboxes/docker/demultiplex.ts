/** Of the engine's own frames, and of the keeper's in one of them. */
type HeadBytes = 8 | 5;

/** Puts streams apart that came as frames: a head (first which stream, last in 4 bytes how long) and a payload. */
export class Demultiplexer {
  readonly #headBytes: HeadBytes;
  #head = Buffer.alloc(0);
  #stream = 0;
  #left = 0;

  constructor(headBytes: HeadBytes) {
    this.#headBytes = headBytes;
  }

  *read(piece: Buffer): Generator<{ readonly stream: number; readonly payload: Buffer }> {
    let rest = piece;
    while (rest.length > 0) {
      if (this.#left === 0) {
        const taken = rest.subarray(0, this.#headBytes - this.#head.length);
        this.#head = Buffer.concat([this.#head, taken]);
        rest = rest.subarray(taken.length);
        if (this.#head.length < this.#headBytes) return;
        this.#stream = this.#head.readUInt8(0);
        this.#left = this.#head.readUInt32BE(this.#headBytes - 4);
        this.#head = Buffer.alloc(0);
        continue;
      }
      const payload = rest.subarray(0, this.#left);
      rest = rest.subarray(payload.length);
      this.#left -= payload.length;
      yield { stream: this.#stream, payload };
    }
  }
}
