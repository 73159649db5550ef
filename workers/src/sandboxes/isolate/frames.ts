import type { Duplex } from "node:stream";

/** A frame is four bytes of length and a JSON array of messages: all that were sent in one turn of the event loop. */
const HEADER = 4;
/** Beyond this a frame is junk: the largest honest message is one result, or one program with its input. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const BATCH_CHARS = 1024 * 1024;

export interface FrameSender {
  send(message: object): void;
}

export function createFrameSender(stream: Duplex): FrameSender {
  let waiting: string[] = [];
  let chars = 0;
  const flush = () => {
    if (waiting.length === 0) return;
    const body = `[${waiting.join(",")}]`;
    waiting = [];
    chars = 0;
    if (stream.destroyed) return;
    const frame = Buffer.allocUnsafe(HEADER + Buffer.byteLength(body));
    frame.writeUInt32LE(frame.length - HEADER);
    frame.write(body, HEADER);
    stream.write(frame);
  };
  return {
    send(message) {
      const text = JSON.stringify(message);
      if (waiting.length === 0) setImmediate(flush);
      waiting.push(text);
      chars += text.length;
      if (chars > BATCH_CHARS) flush();
    },
  };
}

/**
 * Calls `onMessage` for each message. What is junk, or makes `onMessage` throw, is told to `onJunk`, once: the stream is
 * destroyed, and nothing behind it is read.
 */
export function readFrames(
  stream: Duplex,
  onMessage: (message: unknown) => void,
  onJunk: (error: Error) => void,
): void {
  let held: Buffer[] = [];
  let size = 0;
  let wanted = HEADER;
  let broken = false;
  const take = (): void => {
    const all = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held, size);
    let at = 0;
    while (all.length - at >= HEADER) {
      const length = all.readUInt32LE(at);
      if (length > MAX_FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
      wanted = HEADER + length;
      if (all.length - at < wanted) break;
      const messages: unknown = JSON.parse(all.toString("utf8", at + HEADER, at + wanted));
      at += wanted;
      wanted = HEADER;
      if (!Array.isArray(messages)) throw new Error("a frame that is no list");
      messages.forEach(onMessage);
    }
    const rest = all.subarray(at);
    held = rest.length > 0 ? [rest] : [];
    size = rest.length;
  };
  stream.on("data", (chunk: Buffer) => {
    // A destroyed stream still hands out what it had taken in.
    if (broken) return;
    held.push(chunk);
    size += chunk.length;
    // A large frame arrives in many pieces: they are joined once, when all are there.
    if (size < wanted) return;
    try {
      take();
    } catch (error) {
      broken = true;
      held = [];
      stream.destroy();
      onJunk(error as Error);
    }
  });
}
