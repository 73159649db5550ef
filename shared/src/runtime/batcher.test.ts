import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createBatcher } from "./batcher.ts";

describe("the batcher", () => {
  it("gathers what comes while a flush is under way, and keeps each answer with its item", async () => {
    const sizes: number[] = [];
    const double = createBatcher<number, number>(
      async (items) => {
        sizes.push(items.length);
        await sleep(5);
        return items.map((item) => item * 2);
      },
      { maxItems: 100 },
    );
    const first = double(1);
    await sleep(1);
    const rest = Array.from({ length: 50 }, (_, i) => double(i));
    expect(await first).toBe(2);
    expect(await Promise.all(rest)).toEqual(Array.from({ length: 50 }, (_, i) => i * 2));
    expect(sizes).toEqual([1, 50]);
  });

  it("never makes a flush larger than allowed", async () => {
    const sizes: number[] = [];
    const flush = createBatcher<number, number>(
      (items) => {
        sizes.push(items.length);
        return Promise.resolve(items);
      },
      { maxItems: 4 },
    );
    await Promise.all(Array.from({ length: 10 }, (_, i) => flush(i)));
    expect(Math.max(...sizes)).toBe(4);
    expect(sizes.reduce((a, b) => a + b)).toBe(10);
  });

  it("does not let one bad item fail its neighbours when the failure changed nothing", async () => {
    const refuse13 = createBatcher<number, number>(
      (items) => (items.includes(13) ? Promise.reject(new Error("thirteen")) : Promise.resolve(items)),
      { maxItems: 100, changedNothing: () => true },
    );
    const results = await Promise.allSettled([12, 13, 14].map((item) => refuse13(item)));
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("does not repeat a flush whose outcome is unknown", async () => {
    let flushes = 0;
    const lose = createBatcher<number, number>(
      () => {
        flushes += 1;
        return Promise.reject(new Error("connection lost"));
      },
      { maxItems: 100, changedNothing: () => false },
    );
    const results = await Promise.allSettled([1, 2].map((item) => lose(item)));
    expect(results.map((result) => result.status)).toEqual(["rejected", "rejected"]);
    expect(flushes).toBe(1);
  });
});
