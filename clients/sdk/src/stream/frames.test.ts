import { describe, expect, test } from "vitest";
import { createFrameParser, type Frame } from "./frames.ts";

const STREAM = 'event: next\r\nid: 1\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: still here\n\nevent: complete\ndata:\n\n';
const FRAMES: Frame[] = [{ event: "next", data: '{"a":\n1}' }, null, { event: "complete", data: "" }];

function parse(pieces: readonly string[]): Frame[] {
  const parser = createFrameParser();
  return pieces.flatMap((piece) => parser(piece));
}

describe("frames", () => {
  test("cut at any place, they come out the same", () => {
    for (let at = 0; at <= STREAM.length; at += 1) {
      expect(parse([STREAM.slice(0, at), STREAM.slice(at)])).toEqual(FRAMES);
    }
    expect(parse(STREAM.split(""))).toEqual(FRAMES);
  });

  test("lines may end with a carriage return alone", () => {
    expect(parse(["event: next\rdata: 1\r\r", ":\r"])).toEqual([{ event: "next", data: "1" }]);
    expect(parse(["event: next\rdata: 1\r\r:\r", "x"])).toEqual([{ event: "next", data: "1" }, null]);
  });

  test("fields that nobody knows are passed over", () => {
    expect(parse(["retry: 5\nnonsense\nid\ndata: x\n\n\n\n"])).toEqual([{ event: "message", data: "x" }]);
  });

  test("a frame without an end is given up instead of kept", () => {
    const parser = createFrameParser();
    const piece = `data: ${"x".repeat(1024 * 1024)}\n`;
    expect(() => {
      for (let n = 0; n < 20; n += 1) parser(piece);
    }).toThrow("no end");
  });
});
