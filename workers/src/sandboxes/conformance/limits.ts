import { expect, it } from "vitest";
import type { SandboxProvider } from "../port.ts";
import { failed, returned, type Run } from "./expectations.ts";

const ENDLESS: readonly [string, string][] = [
  ["a loop", "for (;;) {}"],
  ["a native loop", 'Array.prototype.join.call({ length: 4e9 }, "")'],
  ["an endless chain of promises", "for (;;) await null"],
  ["a long timer", "await new Promise((resolve) => setTimeout(resolve, 3600_000))"],
];

export function time(run: Run): void {
  it.each(ENDLESS)("%s is ended by TIMEOUT", async (_, code) => {
    expect((await run(code, { limits: { timeoutMs: 300 } })).outcome).toMatchObject(failed("TIMEOUT", /300/));
  });

  it.each(ENDLESS)("%s is ended by cancelling", async (_, code) => {
    const { outcome } = await run(code, { signal: AbortSignal.timeout(200) });
    expect(outcome).toEqual({ kind: "cancelled" });
  });

  it("cancelling before the start runs nothing", async () => {
    const ran = await run('console.log("ran")', { signal: AbortSignal.abort() });
    expect(ran).toMatchObject({ outcome: { kind: "cancelled" }, output: [] });
  });

  it("a program that catches everything cannot catch its end", async () => {
    const code = "for (;;) { try { for (;;) {} } catch {} finally { continue } }";
    expect((await run(code, { limits: { timeoutMs: 300 } })).outcome).toMatchObject(failed("TIMEOUT"));
  });
}

export function limits(run: Run, provider: SandboxProvider): void {
  const printing = { keptOutputBytes: 100, outputBytes: 1000 };

  it("memory: a program that takes more is ended, or the provider does not claim that it would be", async () => {
    const probed = await provider.probe();
    if (probed.available && probed.isolation.enforced["memory"] !== true) {
      return expect(probed.isolation).toMatchObject({ level: "none" });
    }
    const { outcome } = await run("const held = []; for (;;) held.push(new Uint8Array(1e6).fill(1))");
    expect(outcome).toMatchObject(failed("OUT_OF_MEMORY"));
  });

  it("kept output: what is beyond is counted, and the program goes on", async () => {
    const ran = await run('for (let i = 0; i < 50; i++) console.log("123456789"); return "done"', { limits: printing });
    expect(ran).toMatchObject({ outcome: returned("done"), stdout: "123456789\n".repeat(10), dropped: 400 });
  });

  it("kept output: is a prefix, so that nothing small slips in after something large was cut", async () => {
    const ran = await run('console.log("x".repeat(149)); console.error("small")', { limits: printing });
    expect(ran).toMatchObject({ output: [["stdout", "x".repeat(100)]], dropped: 56 });
  });

  it("kept output: is not cut inside of a character", async () => {
    const ran = await run('console.log("x" + "\\u{1f600}".repeat(50))', { limits: printing });
    expect(ran.stdout).toBe(`x${"\u{1f600}".repeat(24)}`);
  });

  it.each([
    ["is cut inside of a character", 'console.log("x" + "\\u{1f600}".repeat(50))', 202],
    ["is one print beyond the output's own limit", 'console.log("x".repeat(1999))', 2000],
    ["is many prints", 'for (let i = 0; i < 9; i++) console.log("é".repeat(20))', 9 * 41],
    ["ends in a native loop", 'console.log("é".repeat(80)); Array.prototype.join.call({ length: 4e9 }, "")', 161],
  ])("kept output: what is kept and what is dropped is what was printed, where it %s", async (_, code, printed) => {
    const ran = await run(code, { limits: { ...printing, timeoutMs: 500 } });
    expect(Buffer.byteLength(ran.stdout) + ran.dropped).toBe(printed);
    expect(Buffer.byteLength(ran.stdout)).toBeLessThanOrEqual(100);
    expect(Buffer.byteLength(ran.stdout)).toBeGreaterThan(96);
  });

  it("output: a program that prints without end is ended, and what was kept stays", async () => {
    const ran = await run('for (;;) console.log("123456789")', { limits: printing });
    expect(ran.outcome).toMatchObject(failed("OUTPUT_LIMIT"));
    expect(ran.stdout).toBe("123456789\n".repeat(10));
  });

  it("result: as many bytes of JSON as allowed are returned, one more is OUTPUT_LIMIT", async () => {
    const allowed = { limits: { resultBytes: 1000 } };
    expect((await run('return "é".repeat(499)', allowed)).outcome).toMatchObject(returned("é".repeat(499)));
    expect((await run('return "é".repeat(499) + "x"', allowed)).outcome).toMatchObject(failed("OUTPUT_LIMIT", /1000/));
  });
}
