import { DEFAULT_GUEST_LIMITS } from "@airlock/shared/domain";
import { describe, expect, it } from "vitest";
import type { OutputChunk } from "../messages.ts";
import type { Said } from "./messages.ts";
import { Output } from "./output.ts";
import { Unsent } from "./unsent.ts";

function open(limits = {}) {
  const sent: Said[] = [];
  const unsent = new Unsent();
  const output = new Output({ ...DEFAULT_GUEST_LIMITS, ...limits }, unsent, (said) => void sent.push(said));
  const print = (stream: 1 | 2, text: string, now = 0) => {
    const bytes = Buffer.from(text);
    // As the machine cuts it: not inside of a character.
    const cut = new TextDecoder().decode(bytes.subarray(0, output.room(bytes.length)), { stream: true });
    output.add(stream, cut, bytes.length, now);
  };
  return { output, print, sent, unsent };
}

const textOf = (chunks: readonly OutputChunk[]) => chunks.map(([, text]) => text).join("");

describe("output", () => {
  it("is held for the end, and seen in shared memory meanwhile", () => {
    const { print, sent, unsent, output } = open();
    print(1, "a");
    print(2, "é\u{1f600}");
    print(1, "\0");
    expect(sent).toEqual([]);
    expect(unsent.read()).toEqual([
      [1, "a"],
      [2, "é\u{1f600}"],
      [1, "\0"],
    ]);
    output.take();
    expect(unsent.read()).toEqual([]);
  });

  it("is either sent or in shared memory, to the last character, however long it is", () => {
    for (const text of ["x".repeat(1000), "\u20ac".repeat(30_000), "x".repeat(200_000), "é"]) {
      const { print, sent, unsent } = open({ keptOutputBytes: 1e9 });
      for (let i = 0; i < 70; i++) {
        print(i % 2 === 0 ? 1 : 2, text);
        const told = sent.map(({ chunks }) => textOf(chunks)).join("") + textOf(unsent.read());
        expect(told === text.repeat(i + 1)).toBe(true);
      }
    }
  });

  it("is sent when it is older than 25 ms, by whoever looks", () => {
    const { print, sent, output, unsent } = open();
    print(1, "a", 100);
    output.flushIfDue(124);
    expect(sent).toEqual([]);
    output.flushIfDue(125);
    expect(sent).toEqual([{ chunks: [[1, "a"]], calls: [] }]);
    expect(unsent.read()).toEqual([]);
  });

  it("keeps its order around calls", () => {
    const { print, output } = open();
    print(1, "a");
    output.call({ id: 1, path: "x.y", input: "{}", at: 5 }, 0);
    print(1, "b");
    print(1, "c");
    expect(output.take()).toEqual({
      chunks: [
        [1, "a"],
        [1, "bc"],
      ],
      calls: [[1, "x.y", "{}", 1, 5]],
    });
  });

  it.each([
    ["a character", ["é".repeat(80)]],
    ["nothing", ["x".repeat(100), "y"]],
    ["a print", ["x".repeat(30), "\u{1f600}".repeat(30), "z"]],
    ["one byte before its end", ["x".repeat(99), "é", "z"]],
  ])("kept and dropped are what was printed, where the limit cuts %s", (_, texts) => {
    const { print, output, unsent } = open({ keptOutputBytes: 100 });
    for (const text of texts) print(1, text);
    const kept = Buffer.byteLength(textOf(output.take().chunks));
    expect(output.printed).toEqual({ printed: Buffer.byteLength(texts.join("")), kept });
    expect(kept + output.dropped).toBe(Buffer.byteLength(texts.join("")));
    expect(unsent.dropped).toBe(output.dropped);
  });

  it("of a restored guest counts on, and tells only what it drops itself", () => {
    const { print, output } = open({ keptOutputBytes: 100, outputBytes: 300 });
    output.resumeAt({ printed: 150, kept: 99 });
    print(1, "x");
    expect([output.dropped, output.take().chunks, output.printed]).toEqual([1, [], { printed: 151, kept: 99 }]);
    print(1, "x".repeat(149));
    expect(output.tooMuch).toBe(false);
    print(1, "x");
    expect(output.tooMuch).toBe(true);
  });
});
