import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createFrameSender, MAX_FRAME_BYTES, readFrames } from "./frames.ts";

function listen(onMessage?: (message: unknown) => void) {
  const [near, far] = duplexPair();
  const heard = { messages: [] as unknown[], junk: [] as string[] };
  readFrames(
    far,
    (message) => {
      onMessage?.(message);
      heard.messages.push(message);
    },
    (error) => heard.junk.push(error.message),
  );
  return { near, far, heard };
}

function frame(text: string, length = Buffer.byteLength(text)): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(length);
  return Buffer.concat([header, Buffer.from(text)]);
}

/** A stream hands each write on as one chunk, one turn later. */
async function say(stream: Duplex, ...chunks: Buffer[]): Promise<void> {
  for (const chunk of chunks) stream.write(chunk);
  for (let i = 0; i < 5; i++) await nextTurn();
}

describe("frames", () => {
  it("split at every byte, also inside of a character, are put together", async () => {
    const { near, heard } = listen();
    const bytes = frame('[{"text":"é\u{1f600}"},2]');
    await say(near, ...Array.from(bytes, (byte) => Buffer.of(byte)));
    await expect.poll(() => heard).toEqual({ messages: [{ text: "é\u{1f600}" }, 2], junk: [] });
  });

  it("many in one chunk, the last one cut, come in order", async () => {
    const { near, heard } = listen();
    const bytes = Buffer.concat([frame("[1,2]"), frame("[]"), frame("[3]"), frame("[4]")]);
    await say(near, bytes.subarray(0, -2));
    expect(heard.messages).toEqual([1, 2, 3]);
    await say(near, bytes.subarray(-2));
    expect(heard).toEqual({ messages: [1, 2, 3, 4], junk: [] });
  });

  it.each([
    ["a frame beyond the limit, of which only the length has come", frame("", MAX_FRAME_BYTES + 1), /bytes/],
    ["no JSON", frame("{not json"), /JSON/],
    ["an empty frame", frame(""), /JSON/],
    ["no list", frame('{"type":"end"}'), /no list/],
    ["bytes that are no text", Buffer.concat([frame("", 3), Buffer.of(0xff, 0xfe, 0x00)]), /JSON/],
  ])("%s is junk: told once, and the stream is closed", async (_, bytes, message) => {
    const { near, far, heard } = listen();
    await say(near, frame("[1]"), bytes);
    await say(near, frame("[2]"));
    expect(heard).toEqual({ messages: [1], junk: [expect.stringMatching(message)] });
    expect(far.destroyed).toBe(true);
  });

  it("nothing behind junk is delivered, though it had arrived before anyone read", async () => {
    const [near, far] = duplexPair();
    const chunks = [frame("[1]"), frame("{not json"), frame("[2]"), frame("[3]")];
    await say(near, ...chunks);
    const heard = { messages: [] as unknown[], junk: [] as string[] };
    readFrames(
      far,
      (message) => heard.messages.push(message),
      (error) => heard.junk.push(error.message),
    );
    // What a stream emits that was destroyed in the middle of its data.
    for (const chunk of chunks) far.emit("data", chunk);
    for (let i = 0; i < 5; i++) await nextTurn();
    expect(heard).toEqual({ messages: [1], junk: [expect.stringMatching(/JSON/)] });
  });

  it("a message that its reader refuses is junk, and what follows in its frame is not read", async () => {
    const { near, heard } = listen((message) => {
      if (message === "bad") throw new Error("not one of ours");
    });
    await say(near, frame('["good","bad","later"]'));
    expect(heard).toEqual({ messages: ["good"], junk: ["not one of ours"] });
  });

  it("what is sent in one turn travels together, in order, and without loss", async () => {
    const { near, heard } = listen();
    const chunks: Buffer[] = [];
    near.write = ((chunk: Buffer) => chunks.push(chunk) > 0) as typeof near.write;
    const sender = createFrameSender(near);
    const sent = Array.from({ length: 100 }, (_, n) => ({ n, text: "\0\ud800é" }));
    sent.forEach((message) => sender.send(message));
    await nextTurn();
    expect(chunks).toHaveLength(1);
    Reflect.deleteProperty(near, "write");
    await say(near, ...chunks);
    expect(heard).toEqual({ messages: sent, junk: [] });
  });

  it("a megabyte is not held back to the end of the turn", () => {
    const { near } = listen();
    let written = 0;
    near.write = ((chunk: Buffer) => (written += chunk.length) > 0) as typeof near.write;
    createFrameSender(near).send({ text: "x".repeat(1024 * 1024 + 1) });
    expect(written).toBeGreaterThan(1024 * 1024);
  });

  it("sending to a host that is gone is silent", async () => {
    const { near } = listen();
    const sender = createFrameSender(near);
    near.destroy();
    sender.send({ type: "cancel", id: 1 });
    await nextTurn();
  });
});
