import { ConnectionError } from "../errors.ts";

/** One frame of a text/event-stream; `null` is a comment, which only says that the other side is alive. */
export type Frame = { readonly event: string; readonly data: string } | null;

/** Far above any frame of a gateway (an event holds at most 1 MB of text): more is not one of ours. */
const MAX_CHARS = 16 * 1024 * 1024;

/** Takes text as it arrives, cut anywhere, and gives the frames that it completes. */
export function createFrameParser(): (text: string) => Frame[] {
  let rest = "";
  let event = "";
  let data: string[] = [];
  let size = 0;

  function takeLine(line: string, frames: Frame[]): void {
    if (line === "") {
      if (event !== "" || data.length > 0) frames.push({ event: event || "message", data: data.join("\n") });
      [event, data, size] = ["", [], 0];
      return;
    }
    if (line.startsWith(":")) return void frames.push(null);
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    if (field === "data") data.push(value);
    size += line.length;
  }

  return (text) => {
    const frames: Frame[] = [];
    // A carriage return at the end may be half of a line end: it stays until the next piece tells.
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) takeLine(line, frames);
    if (rest.length + size > MAX_CHARS) throw new ConnectionError("UNREACHABLE", "a frame of the stream has no end");
    return frames;
  };
}

/** The frames of a body, until it ends. */
export async function* readFrames(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<Frame, void> {
  const parse = createFrameParser();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      yield* parse(decoder.decode(value, { stream: true }));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
