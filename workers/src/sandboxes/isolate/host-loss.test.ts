import { afterEach, describe, expect, it } from "vitest";
import { JUNK, makeJunkBubblewrap } from "../../../testing/fake-bubblewrap.ts";
import { runProgram } from "../../../testing/run-program.ts";
import { createIsolateProvider, type IsolateProvider } from "./index.ts";

const BUSY = 'console.log("on"); for (;;) {}';
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

function open(config: Parameters<typeof createIsolateProvider>[0] = {}): IsolateProvider {
  const provider = createIsolateProvider(config);
  cleanups.push(() => provider.close());
  return provider;
}

describe("a host process that is killed", () => {
  it("gives `lost` to its guests, busy and waiting, and the pool makes another", async () => {
    const warnings: string[] = [];
    const provider = open({ log: { warn: (_, message) => warnings.push(message) } });
    const [pid] = (await provider.hostPids()) as [number];
    const waiting = runProgram(provider, { code: "await new Promise((resolve) => setTimeout(resolve, 60_000))" });
    const busy = runProgram(provider, { code: BUSY, onOutput: () => process.kill(pid, "SIGKILL") });
    expect((await Promise.all([waiting, busy])).map(({ outcome }) => outcome.kind)).toEqual(["lost", "lost"]);
    expect((await runProgram(provider, { code: "return 1" })).outcome).toMatchObject({ kind: "returned" });
    expect(await provider.hostPids()).not.toContain(pid);
    expect(warnings).toHaveLength(1);
  });
});

describe("a host process that speaks junk", () => {
  it.each(JUNK.beforeReady)("before it is ready (%s): it is ended, and the next one serves", async (kind) => {
    const reasons: unknown[] = [];
    const fake = await makeJunkBubblewrap(kind);
    cleanups.push(() => fake.remove());
    const provider = open({ bubblewrap: fake.path, log: { warn: (fields) => reasons.push(fields) } });
    expect((await runProgram(provider, { code: "return 1" })).outcome).toMatchObject({ kind: "returned" });
    expect(reasons).toHaveLength(1);
  });

  it.each(JUNK.whileRunning)(
    "while a guest runs (%s): that guest is lost, the worker and the next one are not",
    async (kind) => {
      const fake = await makeJunkBubblewrap(kind);
      cleanups.push(() => fake.remove());
      const provider = open({ bubblewrap: fake.path });
      const { outcome } = await runProgram(provider, { code: "return 1" });
      expect(outcome).toMatchObject({ kind: "lost" });
      expect((await runProgram(provider, { code: "return 2" })).outcome).toMatchObject({
        kind: "returned",
        output: "2",
      });
    },
  );
});
