import type { Readable } from "node:stream";

/** Names what is stored: by content, and apart for each project, so that none can find out what another has. */
export interface StoreKey {
  readonly projectId: string;
  /** Hex. */
  readonly sha256: string;
}

/** First and last byte, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A file of this machine whose bytes are known. */
export interface ReceivedFile {
  readonly path: string;
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
}

/** Where the bytes of large files are: a folder, or a bucket. */
export interface Store {
  readonly kind: "disk" | "s3";
  /** Whether `put` takes the file itself; else it reads it, and needs no name that lasts. */
  readonly takesFiles: boolean;
  /** A folder of this machine for files on their way in. */
  incoming(): Promise<string>;
  /** When it resolves, the bytes survive a crash. Puts it again where it is there already. */
  put(projectId: string, file: ReceivedFile): Promise<void>;
  /** Throws `StoreError`: before the first byte where it can be known, else through the stream. */
  read(key: StoreKey, range?: ByteRange): Promise<Readable>;
  /** One that is gone is fine. */
  remove(key: StoreKey): Promise<void>;
  /** Throws where the store does not answer, or not to us. */
  check(): Promise<void>;
}

/** The store does not do what it must: it is away, refuses us, or has lost something. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}
