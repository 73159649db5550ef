import { MAX_LINE_CHARS } from "./protocol.ts";

/** What came over the channel is none of the protocol's; the message says what it was. */
export class JunkError extends Error {
  override readonly name = "JunkError";
}

/** Puts pieces, cut anywhere, together to lines. Throws `JunkError` where nobody honest would have sent them. */
export class LineReader {
  #parts: string[] = [];
  #chars = 0;

  *read(piece: Buffer | string): Generator<string> {
    const text = typeof piece === "string" ? piece : piece.toString("latin1");
    // oxlint-disable-next-line no-control-regex -- all of ASCII is meant
    if (/[^\x00-\x7f]/.test(text)) throw new JunkError("a character that is not ASCII");
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      this.#add(text.slice(from, end));
      const line = this.#parts.join("");
      this.#parts = [];
      this.#chars = 0;
      from = end + 1;
      if (line !== "") yield line;
    }
    this.#add(text.slice(from));
  }

  #add(part: string): void {
    if (part === "") return;
    this.#chars += part.length;
    if (this.#chars > MAX_LINE_CHARS) throw new JunkError(`a line of more than ${MAX_LINE_CHARS} characters`);
    this.#parts.push(part);
  }
}

/** A line without its newline. */
export function writeLine(message: readonly unknown[]): string {
  const text = JSON.stringify(message);
  return text.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
