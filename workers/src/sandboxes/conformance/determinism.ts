import { expect, it } from "vitest";
import { returned, type Run } from "./expectations.ts";

export function determinism(run: Run, onNode: boolean): void {
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

  const everyClock = `
    const { format } = new Intl.DateTimeFormat("en-GB", { dateStyle: "short", timeStyle: "medium" });
    const parts = new Intl.DateTimeFormat("en-GB", { second: "numeric", fractionalSecondDigits: 3 }).formatToParts();
    const mark = performance.mark("a", { detail: 1 });
    const given = performance.mark("b", { startTime: 5 });
    const measures = [performance.measure("m"), performance.measure("n", "a"), performance.measure("o", "b", "a"),
      performance.measure("p", { start: 1, duration: 2 }), performance.measure("q", { start: "b" })];
    const before = Date.now();
    const order = [];
    setTimeout(() => order.push("first"), 29);
    const signal = AbortSignal.timeout(30);
    setTimeout(() => order.push("last"), 31);
    await new Promise((done) => signal.addEventListener("abort", () => { order.push(signal.reason.name); done() }));
    const waited = Date.now() - before;
    await new Promise((done) => setTimeout(done, 5));
    return { formatted: [format(), format(undefined), format(0)], parts, order, waited: waited >= 30 && waited < 32,
      marks: [mark, given].map((each) => [each.name, each.startTime, each.detail]),
      measures: measures.map((each) => [each.name, each.startTime, each.duration]), json: performance.toJSON() };`;

  if (onNode)
    it("all else on Node that tells the time or waits for it goes by the same clock", async () => {
      const look = async (): Promise<unknown> => {
        const { outcome } = await run(everyClock, { clockStart: 86_400_000 });
        if (outcome.kind !== "returned" || outcome.output === null) throw new Error(JSON.stringify(outcome));
        return JSON.parse(outcome.output);
      };
      const first = await look();
      expect(first).toMatchObject({
        formatted: ["02/01/1970, 00:00:00", "02/01/1970, 00:00:00", "01/01/1970, 00:00:00"],
        order: ["first", "TimeoutError", "last"],
        waited: true,
        json: { timeOrigin: 86_400_000 },
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(await look()).toEqual(first);
    });

  it("the clock begins where the first run began, not now", async () => {
    const { before } = await look("00", 86_400_000);
    expect(before).toBeGreaterThanOrEqual(86_400_000);
    expect(before).toBeLessThan(86_401_000);
  });
}
