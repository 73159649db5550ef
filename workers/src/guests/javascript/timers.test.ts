import { describe, expect, it } from "vitest";
import { useGuest } from "../../../testing/guest.ts";

const guest = useGuest();

/** Gathers what `mark` is called with, until the last timer has fired. */
const gather = (code: string) =>
  guest.value(`const seen = []; const mark = (what) => seen.push(what);
    ${code}
    await new Promise((resolve) => setTimeout(resolve, 100)); return seen`);

describe("timers", () => {
  it("fire by delay, then by the order in which they were set; microtasks come first", async () => {
    const code = `setTimeout(() => mark("late"), 30); setTimeout(mark, 10, "b"); setTimeout(mark, 10, "c"); setTimeout(mark, 0, "a");
      Promise.resolve().then(() => mark("micro")); queueMicrotask(() => mark("micro too")); mark("sync")`;
    expect(await gather(code)).toEqual(["sync", "micro", "micro too", "a", "b", "c", "late"]);
  });

  it("microtasks of one timer run before the next timer", async () => {
    const code = `setTimeout(() => { mark(1); Promise.resolve().then(() => mark("1 then")) }, 5); setTimeout(mark, 5, 2)`;
    expect(await gather(code)).toEqual([1, "1 then", 2]);
  });

  it("many, set in any order, fire in the order of their delays", async () => {
    const code = `for (let i = 0; i < 200; i++) { const delay = (i * 37) % 50 + 1; setTimeout(mark, delay, delay) }`;
    const seen = (await gather(code)) as number[];
    expect(seen).toHaveLength(200);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  it("a cleared timer never fires, whether it was next, in the middle, or cleared by another", async () => {
    const code = `const ids = [1, 2, 3, 4].map((n) => setTimeout(mark, n * 5, n));
      clearTimeout(ids[0]); clearTimeout(String(ids[2])); setTimeout(() => clearTimeout(ids[3]), 12)`;
    expect(await gather(code)).toEqual([2]);
  });

  it("clearing what is no timer, or is one no more, is no error", async () => {
    const code = `const id = setTimeout(mark, 1, "fired"); setTimeout(() => clearTimeout(id), 5);
      for (const odd of [undefined, null, 0, -1, NaN, "x", {}, 999]) { clearTimeout(odd); clearInterval(odd) }`;
    expect(await gather(code)).toEqual(["fired"]);
  });

  it("an interval repeats with its arguments until it is cleared, also from within", async () => {
    const code = `let n = 0; const id = setInterval((step) => { mark(n += step); if (n === 6) clearInterval(id) }, 5, 2)`;
    expect(await gather(code)).toEqual([2, 4, 6]);
  });

  it("a delay that is none counts as the shortest, and does not fire at once", async () => {
    const code = `for (const delay of [undefined, -5, NaN, "abc", 0, 2 ** 40]) setTimeout(mark, delay, String(delay)); mark("sync")`;
    expect(await gather(code)).toEqual(["sync", "undefined", "-5", "NaN", "abc", "0", "1099511627776"]);
  });

  it("the guest's clock has moved by at least the delay when a timer fires", async () => {
    const code = `const from = [Date.now(), performance.now()]; await new Promise((resolve) => setTimeout(resolve, 40));
      return [Date.now() - from[0] >= 40, performance.now() - from[1] >= 40]`;
    expect(await guest.value(code)).toEqual([true, true]);
  });

  it("something that is no function is refused when it is set, not when it fires", async () => {
    expect(await guest.value('try { setTimeout("alert(1)", 1) } catch (error) { return error.name }')).toBe(
      "TypeError",
    );
  });

  it("a throwing timer ends the program with its error", async () => {
    const code = 'setTimeout(() => { throw new Error("in a timer") }, 1); await new Promise((r) => setTimeout(r, 50))';
    await expect(guest.value(code)).rejects.toThrow("in a timer");
  });
});
