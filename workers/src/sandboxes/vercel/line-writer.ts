import { wordsOf } from "./failures.ts";
import { persist } from "./retry.ts";

/** More are left for the next write, so that one request stays small. */
const BATCH_CHARS = 4 * 1024 * 1024;
const ATTEMPTS = 8;

export interface LineFile {
  readonly path: string;
  readonly content: string;
}

/**
 * Lines become files, numbered from 1, each ended by its newline: the agent takes one when it is whole and its turn has
 * come. So a write may be repeated, come in part, or come twice. One write is in flight; what is sent meanwhile shares
 * the next.
 */
export class LineWriter {
  readonly #folder: string;
  readonly #write: (files: readonly LineFile[]) => Promise<void>;
  readonly #onLost: (reason: string) => void;
  #waiting: LineFile[] = [];
  #count = 0;
  #busy = false;
  #closed = false;

  constructor(folder: string, write: (files: readonly LineFile[]) => Promise<void>, onLost: (reason: string) => void) {
    this.#folder = folder;
    this.#write = write;
    this.#onLost = onLost;
  }

  send(line: string): void {
    if (this.#closed) return;
    this.#waiting.push({ path: `${this.#folder}/${++this.#count}`, content: `${line}\n` });
    if (!this.#busy) void this.#flush();
  }

  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  async #flush(): Promise<void> {
    this.#busy = true;
    // Lines that are sent in one go share the first write, too.
    await Promise.resolve();
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#takeBatch();
        await persist(() => this.#write(batch), ATTEMPTS);
      }
    } catch (error) {
      if (!this.#closed) this.#onLost(`the sandbox cannot be told anything: ${wordsOf(error)}`);
      this.close();
    } finally {
      this.#busy = false;
    }
  }

  #takeBatch(): LineFile[] {
    let chars = 0;
    let count = 0;
    for (const { content } of this.#waiting) {
      chars += content.length;
      if (count > 0 && chars > BATCH_CHARS) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }
}
