import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { describeConformance } from "../conformance.ts";
import type { Lease, SandboxProvider } from "../port.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

/** The docker provider with Bun in the place of Node. */
function inBun(): SandboxProvider {
  const provider = createDockerProvider(engine);
  return {
    ...provider,
    acquire: async (request) => {
      const bun = request.language ?? "BUN";
      const lease = await provider.acquire({ ...request, language: bun === "JAVASCRIPT" ? "BUN" : bun });
      const start: Lease["start"] = (program, ...rest) => {
        const { language } = program;
        return lease.start({ ...program, language: language === "JAVASCRIPT" ? "BUN" : language }, ...rest);
      };
      return { start, outputs: (bounds) => lease.outputs(bounds), release: () => lease.release() };
    },
  };
}

describeNeeding("docker", "docker with Bun", () => {
  describeConformance("docker with Bun", inBun);

  const provider = inBun();
  afterAll(() => provider.close());
  const run = (code: string, files: Readonly<Record<string, string>> = {}) =>
    runProgram(provider, {
      code,
      language: "BUN",
      lease: { files: Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) })) },
    });

  it("TypeScript is translated as Bun does it, in the program and in what it imports", async () => {
    const code = `import { half, type Whole } from "./half.ts"; import path from "node:path";
      import {
        readFileSync as read,
      } from "node:fs";
      enum Size { Small = 1, Large }
      const size: Whole = Size.Large;
      return [half(size), path.basename(import.meta.path), read("half.ts", "utf8").length > 1, Bun.version.length > 2] satisfies unknown[]`;
    const half = "export type Whole = number; export const half = (n: Whole): number => n / 2";
    expect((await run(code, { "half.ts": half })).outcome).toEqual({
      kind: "returned",
      output: '[1,"task.ts",true,true]',
    });
  });

  it("a fault of TypeScript has the author's line, and so has one that is thrown", async () => {
    for (const code of [
      "const a: number = 1;\n\nconst b: = 2;",
      "enum A { B }\ninterface C {}\nthrow new Error(A[0])",
    ]) {
      const { outcome } = await run(code);
      expect(outcome.kind === "failed" && outcome.failure.stack).toMatch(/task\.ts:3\b/);
    }
  });

  it("clock and randomness of Bun's own are the task's, too", async () => {
    const code = `const before = Bun.nanoseconds(); const at = Date.now(); await Bun.sleep(20_000);
      return [Bun.randomUUIDv7(), Bun.nanoseconds() - before > 19e9, Date.now() - at, Math.random()]`;
    const one = await run(code.replace("20_000", "20"));
    expect(one.outcome.kind).toBe("returned");
    expect(await run(code.replace("20_000", "20"))).toEqual(one);
  });

  it("files of the work area do not decide how it is run", async () => {
    const files = {
      ".env": "SECRET=1",
      "bunfig.toml": 'preload = ["./evil.ts"]',
      "evil.ts": 'console.log("preloaded")',
    };
    expect(await run("return [process.env.SECRET ?? null]", files)).toMatchObject({
      outcome: { kind: "returned", output: "[null]" },
      stdout: "",
    });
  });
});
