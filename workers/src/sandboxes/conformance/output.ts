import { expect, it } from "vitest";
import { failed, type Run } from "./expectations.ts";

export function output(run: Run): void {
  it("keeps the order over both streams, and the streams apart", async () => {
    const ran = await run(
      'console.log("1"); console.error("2"); console.log("3"); console.log("4"); console.warn("5")',
    );
    expect(ran.output).toEqual([
      ["stdout", "1\n"],
      ["stderr", "2\n"],
      ["stdout", "3\n4\n"],
      ["stderr", "5\n"],
    ]);
  });

  it("is there in full when the program fails right after it", async () => {
    const ran = await run('for (let i = 0; i < 1000; i++) console.log(i); throw new Error("boom")');
    expect(ran.stdout).toBe(Array.from({ length: 1000 }, (_, i) => `${i}\n`).join(""));
  });

  it("comes while the program still runs, not only at its end", async () => {
    const seen = new AbortController();
    const code = 'console.log("now"); for (;;) await new Promise((resolve) => setTimeout(resolve, 5))';
    const ran = await run(code, { signal: seen.signal, onOutput: () => seen.abort() });
    expect(ran).toMatchObject({ outcome: { kind: "cancelled" }, stdout: "now\n" });
  });

  it.each([
    ["a loop", "for (;;) {}"],
    ["a native loop that never looks up", 'Array.prototype.join.call({ length: 4e9 }, "")'],
  ])("is there in full, in order, when %s right after it is ended by TIMEOUT", async (_, code) => {
    const ran = await run(`console.log("é1"); console.error("2"); console.log("3"); ${code}`, {
      limits: { timeoutMs: 300 },
    });
    expect(ran).toMatchObject({
      outcome: failed("TIMEOUT"),
      output: [
        ["stdout", "é1\n"],
        ["stderr", "2\n"],
        ["stdout", "3\n"],
      ],
      dropped: 0,
    });
  });

  it("is there in full when a native loop right after much of it is cancelled", async () => {
    const stop = new AbortController();
    const lines = Array.from({ length: 10_000 }, (_, i) => `line ${i}\n`).join("");
    const code =
      'for (let i = 0; i < 1e4; i++) console.log("line " + i); Array.prototype.join.call({ length: 4e9 }, "")';
    // The first piece comes while it still prints: two seconds are a hundred times what the rest takes.
    const onOutput = () => void setTimeout(() => stop.abort(), 2000);
    const ran = await run(code, { signal: stop.signal, onOutput });
    expect(ran.outcome).toEqual({ kind: "cancelled" });
    expect(ran.stdout).toBe(lines);
  });

  it("carries a lone surrogate as one U+FFFD, and a byte order mark as it is", async () => {
    const ran = await run('console.log("\\ufeffa\\ud800b\\udc00\\ud83d\\ude00\\ud7ff\\ufffd")');
    expect(ran.stdout).toBe("\ufeffa\ufffdb\ufffd\u{1f600}\ud7ff\ufffd\n");
  });

  it("carries NUL, emoji and control characters as they are", async () => {
    const text = "a\0b \u{1f600} é \u001b[31m \u2028";
    expect((await run(`console.log(${JSON.stringify(text)})`)).stdout).toBe(`${text}\n`);
  });
}
