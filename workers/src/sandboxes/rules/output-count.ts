import type { GuestLimits } from "@airlock/shared/domain";

/** Counts what a guest prints, to the byte. What is kept is a prefix of what was printed. */
export class OutputCount {
  readonly #limits: GuestLimits;
  #printed = 0;
  #kept = 0;

  constructor(limits: GuestLimits) {
    this.#limits = limits;
  }

  get dropped(): number {
    return this.#printed - this.#kept;
  }

  get tooMuch(): boolean {
    return this.#printed > this.#limits.outputBytes;
  }

  /** What is kept of a text: nothing, all, or what there is room for, up to a whole character. */
  take(text: string): string {
    const bytes = Buffer.byteLength(text);
    const room = this.dropped > 0 ? 0 : this.#limits.keptOutputBytes - this.#kept;
    const kept = bytes <= room ? text : cutTo(text, room);
    this.#printed += bytes;
    this.#kept += kept === text ? bytes : Buffer.byteLength(kept);
    return kept;
  }
}

function cutTo(text: string, bytes: number): string {
  if (bytes <= 0) return "";
  const encoded = Buffer.from(text);
  let end = bytes;
  while (end > 0 && ((encoded[end] as number) & 0xc0) === 0x80) end--;
  return encoded.toString("utf8", 0, end);
}
