import { expect, it } from "vitest";
import { returned, type Run } from "./expectations.ts";

export function determinism(run: Run): void {
  const code = `
    const bytes = [...crypto.getRandomValues(new Uint8Array(8))];
    const before = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { random: [Math.random(), Math.random()], uuid: crypto.randomUUID(), bytes,
      before, after: Date.now(), date: new Date().toISOString(), now: performance.now() };`;
  const look = async (seed: string, clockStart: number) => {
    const { outcome } = await run(code, { seed, clockStart });
    if (outcome.kind !== "returned" || outcome.output === null) throw new Error(JSON.stringify(outcome));
    return JSON.parse(outcome.output) as { random: number[]; uuid: string; bytes: number[]; before: number };
  };

  it("a re-run with the same seed and clock sees the same numbers, ids and dates", async () => {
    const first = await look("ab12", 1_700_000_000_123);
    expect(await look("ab12", 1_700_000_000_123)).toEqual(first);
    expect(first.random[0]).not.toBe(first.random[1]);
  });

  it("another seed gives other numbers and ids, at the same time", async () => {
    const [one, other] = [await look("ab12", 5), await look("ab13", 5)];
    expect(other.before).toBe(one.before);
    for (const key of ["random", "uuid", "bytes"] as const) expect(other[key]).not.toEqual(one[key]);
  });

  it("the time origin of performance is that beginning", async () => {
    const code = "const { now } = performance; return [performance.timeOrigin, performance.now() < now()]";
    const { outcome } = await run(code, { clockStart: 86_400_000 });
    expect(outcome).toMatchObject(returned([86_400_000, true]));
  });

  it("the clock begins where the first run began, not now", async () => {
    const { before } = await look("00", 86_400_000);
    expect(before).toBeGreaterThanOrEqual(86_400_000);
    expect(before).toBeLessThan(86_401_000);
  });
}
