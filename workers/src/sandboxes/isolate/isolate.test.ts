import { availableParallelism } from "node:os";
import { afterAll, describe, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { describeConformance } from "../conformance.ts";
import { createIsolateProvider } from "./index.ts";

describeConformance("isolate", () => createIsolateProvider());

const BUSY = 'console.log("on"); for (;;) {}';

describe("isolate", () => {
  const provider = createIsolateProvider();
  afterAll(() => provider.close());

  it("busy guests, more than there are processors, never hold up a short one", async () => {
    const stop = new AbortController();
    const ended: string[] = [];
    const started: Promise<void>[] = [];
    const busy = Array.from({ length: availableParallelism() + 2 }, async () => {
      const on = Promise.withResolvers<void>();
      started.push(on.promise);
      const { outcome } = await runProgram(provider, { code: BUSY, signal: stop.signal, onOutput: () => on.resolve() });
      ended.push(outcome.kind);
    });
    await Promise.all(started);
    const short = await runProgram(provider, { code: "return 7" });
    expect(short.outcome).toMatchObject({ kind: "returned", output: "7" });
    expect(ended).toEqual([]);
    stop.abort();
    await Promise.all(busy);
    expect(ended).toEqual(busy.map(() => "cancelled"));
  });

  it("sixty guests that wait on timers at once each wake with their own answer", async () => {
    const code = "await new Promise((resolve) => setTimeout(resolve, 300)); return input";
    const runs = Array.from({ length: 60 }, (_, i) => runProgram(provider, { code, input: String(i) }));
    const outputs = (await Promise.all(runs)).map(({ outcome }) => outcome.kind === "returned" && outcome.output);
    expect(outputs).toEqual(runs.map((_, i) => String(i)));
  });

  it("more guests than threads wait their turn, and none is forgotten", async () => {
    const narrow = createIsolateProvider({ maxThreads: 2 });
    try {
      const code = "let n = 0; while (n < 1e4) n++; await null; return input";
      const runs = Array.from({ length: 30 }, (_, i) => runProgram(narrow, { code, input: String(i) }));
      const kinds = (await Promise.all(runs)).map(({ outcome }) => outcome.kind);
      expect(kinds).toEqual(runs.map(() => "returned"));
    } finally {
      await narrow.close();
    }
  });

  it("a guest cancelled while it waits for a thread never starts", async () => {
    const narrow = createIsolateProvider({ maxThreads: 1 });
    try {
      const stop = new AbortController();
      const never = new AbortController();
      const on = Promise.withResolvers<void>();
      const first = runProgram(narrow, { code: BUSY, signal: stop.signal, onOutput: () => on.resolve() });
      await on.promise;
      const queued = runProgram(narrow, { code: 'console.log("ran")', signal: never.signal });
      setTimeout(() => never.abort(), 50);
      expect(await queued).toMatchObject({ outcome: { kind: "cancelled" }, output: [] });
      stop.abort();
      expect((await first).outcome.kind).toBe("cancelled");
    } finally {
      await narrow.close();
    }
  });

  it("imports of types alone mean nothing when it runs, and leave lines where they are", async () => {
    const code = `import type { Issue } from "./types";
      import type * as All from "./all";
      const issue: Issue | All.Other = new Error("made");
      return issue.stack`;
    const { outcome } = await runProgram(provider, { code, language: "TYPESCRIPT" });
    expect(outcome).toMatchObject({ kind: "returned", output: expect.stringMatching(/task\.ts:3/) as string });
    const mixed = await runProgram(provider, { code: 'import type { A } from "./a"; import b from "./b"; return b' });
    expect(mixed.outcome).toMatchObject({ kind: "failed", failure: { message: /import b|no modules/ as never } });
  });

  it.each([
    ["import x from 'fs'", /no modules/],
    ["export const x = 1", /no modules/],
    ["const fs = await import('node:fs'); return fs", /no modules/],
    ["return require('fs')", /require/],
    ["return process.env", /process/],
    ["return await fetch('http://127.0.0.1')", /fetch/],
  ])("gives no way out: %s", async (code, message) => {
    const { outcome } = await runProgram(provider, { code });
    expect(outcome).toMatchObject({ kind: "failed", failure: { code: "GUEST_ERROR" } });
    expect(outcome.kind === "failed" && outcome.failure.message).toMatch(message);
  });

  it("code that closes our function and opens another does not compile", async () => {
    const { outcome } = await runProgram(provider, { code: "} }); globalThis.out = 1; (async () => { body: {" });
    expect(outcome).toMatchObject({ kind: "failed", failure: { code: "GUEST_ERROR" } });
  });

  it("TypeScript keeps the author's lines, and an enum is refused with its line", async () => {
    const thrown = await runProgram(provider, {
      language: "TYPESCRIPT",
      code: 'interface Wide {\n  a: number;\n}\nthrow new Error("boom" as string);',
    });
    expect(thrown.outcome.kind === "failed" && thrown.outcome.failure.stack).toMatch(/task\.ts:4\b/);
    const refused = await runProgram(provider, { language: "TYPESCRIPT", code: "const a = 1;\nenum No { A }" });
    expect(refused.outcome).toMatchObject({ kind: "failed", failure: { code: "GUEST_ERROR" } });
    expect(refused.outcome.kind === "failed" && refused.outcome.failure.message).toMatch(/task\.ts:2\b/);
  });
});
