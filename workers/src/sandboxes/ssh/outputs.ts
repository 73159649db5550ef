import type { Readable } from "node:stream";
import type { OutputBounds, OutputFile } from "../port.ts";
import { MachineError } from "./ask.ts";
import { CONNECTION_EXIT } from "./connection.ts";
import type { SshHost } from "./host.ts";

const MAX_ENTRY_BYTES = 64 * 1024;

type Entry = { readonly path: string; readonly size: number } | { readonly path: string; readonly left: string };

/** What was collected over there: for each file a line that describes it, then its bytes. */
export async function* collectOutputs(
  host: SshHost,
  leaseId: string,
  bounds: OutputBounds,
): AsyncGenerator<OutputFile> {
  const { child, reason, loggedIn } = await host.open("outputs.sh", [leaseId]);
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", resolve);
    child.once("error", () => resolve(CONNECTION_EXIT));
  });
  void ended.then(loggedIn);
  child.stdin?.end();
  child.stderr?.resume();
  const reader = new Reader(child.stdout as Readable);
  try {
    yield* readEntries(reader, bounds);
    const code = await ended;
    if (code !== 0) throw new MachineError(code === CONNECTION_EXIT ? await reason() : `exit code ${code}`);
  } finally {
    child.kill("SIGKILL");
  }
}

async function* readEntries(reader: Reader, bounds: OutputBounds): AsyncGenerator<OutputFile> {
  let files = 0;
  let total = 0;
  for (let line = await reader.line(); line !== null; line = await reader.line()) {
    const entry = JSON.parse(line) as Entry;
    if ("left" in entry) {
      bounds.onLeft(entry.path, entry.left);
      continue;
    }
    const { path, size } = entry;
    const left = whyLeft(size, files, total, bounds);
    if (left !== null) {
      bounds.onLeft(path, left);
      await reader.skip(size);
      continue;
    }
    files++;
    total += size;
    const before = reader.read;
    yield { path, size, content: () => reader.bytes(size) };
    // What was not read is in the way of the next.
    await reader.skip(size - (reader.read - before));
  }
}

function whyLeft(size: number, files: number, total: number, bounds: OutputBounds): string | null {
  if (size > bounds.fileBytes) return `it has more than ${bounds.fileBytes} bytes`;
  if (files >= bounds.files) return `there are more than ${bounds.files} files`;
  if (total + size > bounds.totalBytes) return `all files together have more than ${bounds.totalBytes} bytes`;
  return null;
}

class Reader {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of files that were given, or skipped. */
  read = 0;

  constructor(stream: Readable) {
    this.#source = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Null at the end. */
  async line(): Promise<string | null> {
    for (;;) {
      const at = this.#rest.indexOf(10);
      if (at >= 0) {
        const line = this.#rest.subarray(0, at).toString();
        this.#rest = this.#rest.subarray(at + 1);
        return line;
      }
      if (this.#rest.length > MAX_ENTRY_BYTES) throw new MachineError("what it collected cannot be read");
      if (!(await this.#more())) return null;
    }
  }

  async *bytes(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0;) {
      if (this.#rest.length === 0 && !(await this.#more())) throw new MachineError("a file came only in part");
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      this.read += part.length;
      yield part;
    }
  }

  async skip(count: number): Promise<void> {
    for await (const _ of this.bytes(count));
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (done === true) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}
