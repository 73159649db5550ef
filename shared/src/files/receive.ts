import { createHash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import path from "node:path";
import { newId } from "../contracts/index.ts";

/** Bytes that have come in: in memory while they are few, else in a file. */
export interface Received {
  readonly size: number;
  readonly sha256: Buffer;
  readonly head: Buffer;
  readonly isText: boolean;
  readonly inline: Buffer | null;
  readonly file: IncomingFile | null;
}

export interface IncomingFile {
  /** Good until it is released. */
  readonly path: string;
  release(): Promise<void>;
}

export class TooManyBytes extends Error {
  override readonly name = "TooManyBytes";
}

export interface ReceiveOptions {
  readonly incoming: () => Promise<string>;
  /** Whether the file keeps its name: else nothing of it outlives this process, however that ends. */
  readonly named: boolean;
  /** As many stay in memory. */
  readonly inlineBytes: number;
  /** More throw `TooManyBytes`, and are not read. */
  readonly maxBytes: number;
}

/** Takes a stream in, at the pace of the disk, and says what it is. Whatever fails leaves no file behind. */
export async function receive(source: AsyncIterable<Buffer>, options: ReceiveOptions): Promise<Received> {
  const looks = createLooks();
  const early: Buffer[] = [];
  let file: (IncomingFile & { readonly handle: FileHandle }) | null = null;
  try {
    for await (const chunk of source) {
      if (looks.take(chunk) > options.maxBytes) throw new TooManyBytes(`more than ${options.maxBytes} bytes`);
      if (file === null) early.push(Buffer.from(chunk));
      else await file.handle.write(chunk);
      if (file !== null || looks.size <= options.inlineBytes) continue;
      file = await openNew(await options.incoming(), options.named);
      await file.handle.writev(early.splice(0));
    }
    return { ...looks.end(), inline: file === null ? Buffer.concat(early) : null, file };
  } catch (error) {
    await file?.release();
    throw error;
  }
}

async function openNew(folder: string, named: boolean): Promise<IncomingFile & { readonly handle: FileHandle }> {
  const file = path.join(folder, `airlock-${newId()}`);
  const handle = await open(file, "wx", 0o600);
  const isNamed = named || process.platform !== "linux";
  if (!isNamed) await rm(file);
  return {
    handle,
    path: isNamed ? file : `/proc/self/fd/${handle.fd}`,
    async release() {
      await handle.close().catch(() => undefined);
      if (isNamed) await rm(file, { force: true });
    },
  };
}

/** Hash, size and kind of bytes as they pass. */
function createLooks() {
  const hash = createHash("sha256");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let head = Buffer.alloc(0);
  let size = 0;
  let isText = true;
  const decode = (chunk?: Buffer): void => {
    try {
      const text = chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
      if (text.includes("\0")) isText = false;
    } catch {
      isText = false;
    }
  };
  return {
    get size() {
      return size;
    },
    take(chunk: Buffer): number {
      hash.update(chunk);
      if (head.length < 16) head = Buffer.concat([head, chunk.subarray(0, 16 - head.length)]);
      if (isText) decode(chunk);
      return (size += chunk.length);
    },
    end() {
      if (isText) decode();
      return { size, sha256: hash.digest(), head, isText };
    },
  };
}
