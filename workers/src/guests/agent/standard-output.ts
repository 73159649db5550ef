import { StringDecoder } from "node:string_decoder";
import { Writable } from "node:stream";

const PIECE_CHARS = 64 * 1024;

type Send = (message: readonly unknown[]) => void;

/** What the program prints by the language's own means goes over the channel, in order with its calls. */
export function replaceStandardOutput(send: Send): void {
  replace("stdout", 1, send);
  replace("stderr", 2, send);
}

function replace(name: "stdout" | "stderr", fd: 1 | 2, send: Send): void {
  const decoder = new StringDecoder("utf8");
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, encoding, done) {
      const text = typeof chunk === "string" && encoding !== "hex" && encoding !== "base64" ? chunk : null;
      print(fd, text ?? decoder.write(Buffer.from(chunk as string, encoding as "utf8")), send);
      done();
    },
  });
  Object.defineProperty(stream, "fd", { value: fd });
  Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true, writable: true });
}

function print(fd: 1 | 2, text: string, send: Send): void {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + PIECE_CHARS, text.length);
    // A pair of surrogates is one character.
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end--;
    send(["out", fd, text.slice(at, end)]);
    at = end;
  }
}
