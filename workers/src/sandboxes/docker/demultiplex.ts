/** Cuts the engine's attach stream into its two: frames of an 8-byte head (which stream, how long) and a payload. */
export class Demultiplexer {
  #head = Buffer.alloc(0);
  #stream = 0;
  #left = 0;

  *read(piece: Buffer): Generator<{ readonly stream: number; readonly payload: Buffer }> {
    let rest = piece;
    while (rest.length > 0) {
      if (this.#left === 0) {
        const taken = rest.subarray(0, 8 - this.#head.length);
        this.#head = Buffer.concat([this.#head, taken]);
        rest = rest.subarray(taken.length);
        if (this.#head.length < 8) return;
        this.#stream = this.#head.readUInt8(0);
        this.#left = this.#head.readUInt32BE(4);
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
