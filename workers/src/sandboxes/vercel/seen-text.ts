import { createHash } from "node:crypto";

/** A log that is read again is not the one that was read before. */
export class LogChanged extends Error {
  override readonly name = "LogChanged";
}

/**
 * What was heard of one stream of a log, which each reading tells again from its start: a reading gives only what is
 * new. Counted in characters, since pieces are cut otherwise each time (and all of it is ASCII); a hash shows that it is the same text.
 */
export class SeenText {
  #hash = createHash("sha256");
  #seen = 0;
  #at = 0;
  #again = createHash("sha256");

  rewind(): void {
    this.#at = 0;
    this.#again = createHash("sha256");
  }

  /** The part of the piece that was not heard before. */
  take(piece: string): string {
    const old = Math.min(Math.max(this.#seen - this.#at, 0), piece.length);
    this.#at += piece.length;
    if (old > 0) this.#compare(piece.slice(0, old));
    const fresh = piece.slice(old);
    this.#hash.update(fresh);
    this.#seen += fresh.length;
    return fresh;
  }

  #compare(told: string): void {
    this.#again.update(told);
    if (this.#at < this.#seen) return;
    if (!this.#again.copy().digest().equals(this.#hash.copy().digest())) {
      throw new LogChanged("what the sandbox had said is told otherwise when it is asked again");
    }
  }
}
