import { Socket } from "node:net";
import type { Junk } from "./fake-bubblewrap.ts";

/** An isolate host that a guest has taken over: it speaks on the channel, but not as it should. */

const frame = (text: string): Buffer => {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([header, Buffer.from(text)]);
};
const messages = (...list: object[]): Buffer => frame(JSON.stringify(list));
const OVERSIZE = Buffer.from([0xff, 0xff, 0xff, 0x7f]);
const READY = { type: "ready", image: "00", environment: [], network: [], files: [] };
const END = { type: "end", id: 1, chunks: [], calls: [], dropped: 0 };

const SAYS: Readonly<Record<Junk, { first: Buffer | null; later: Buffer | null }>> = {
  "an exit": { first: null, later: null },
  "an oversize frame": { first: OVERSIZE, later: null },
  "no JSON": { first: frame("{not json"), later: null },
  "no list": { first: frame('{"type":"ready"}'), later: null },
  "a bad ready": { first: messages({ type: "ready", image: 1 }), later: null },
  "a late oversize frame": { first: messages(READY), later: OVERSIZE },
  "a late unknown type": { first: messages(READY), later: messages({ type: "gossip", id: 1 }) },
  "a late bad end": {
    first: messages(READY),
    later: messages({ ...END, end: {} }),
  },
  "a late bad output": {
    first: messages(READY),
    later: messages({ type: "output", id: 1, chunks: [[3, "x"]], calls: [] }),
  },
  "a late result that is no JSON": {
    first: messages(READY),
    later: messages({ ...END, end: { kind: "returned", output: "{not json" } }),
  },
  "a late oversize result": {
    first: messages(READY),
    later: messages({ ...END, end: { kind: "returned", output: JSON.stringify("x".repeat(2 ** 20)) } }),
  },
  "a late code of no guest": {
    first: messages(READY),
    later: messages({ ...END, end: { kind: "failed", code: "CANCELLED", message: "" } }),
  },
  silence: { first: Buffer.alloc(0), later: Buffer.alloc(0) },
  "a late exit": { first: messages(READY), later: null },
};

const kind = process.argv[2] as Junk;
const { first, later } = SAYS[kind];
if (first === null) process.exit(1);
const channel = new Socket({ fd: 3, readable: true, writable: true });
channel.on("close", () => process.exit(0));
channel.on("error", () => process.exit(0));
channel.write(first);
channel.once("data", () => (later === null ? process.exit(1) : channel.write(later)));
