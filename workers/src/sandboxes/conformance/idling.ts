import { expect, it } from "vitest";
import { returned, type Start } from "./expectations.ts";

const CLOCK = 1_700_000_000_000;

export function idling(start: Start): void {
  it("is reported after everything that it said, and has no timer where it only waits for calls", async () => {
    const guest = await start('console.log("1"); const call = tools.x.a({}); console.log("2"); return await call');
    expect(await guest.nextIdle()).toEqual({ turn: 1, waits: true, timerMs: null, timerAt: null });
    expect(guest.heard.map(([kind]) => kind)).toEqual(["stdout", "call", "stdout", "idle"]);
    guest.give(guest.calls[0] as (typeof guest.calls)[0], 1);
    expect((await guest.ended()).outcome).toMatchObject(returned(1));
  });

  it("is reported again after each outcome, under a new number", async () => {
    const guest = await start("for (let i = 0; i < 4; i++) await tools.x.a({ i }); return 1");
    const turns: number[] = [];
    for (let i = 0; i < 4; i++) {
      turns.push((await guest.nextIdle()).turn);
      guest.give(await guest.nextCall());
    }
    expect((await guest.ended()).outcome).toMatchObject(returned(1));
    expect(turns).toEqual(turns.toSorted((a, b) => a - b));
    expect(new Set(turns).size).toBe(4);
  });

  it("is reported with the first of its timers, by the real clock and by the guest's own", async () => {
    const guest = await start(
      "setTimeout(() => {}, 90_000_000); setTimeout(() => {}, 50_000_000); return await tools.x.a({})",
      { clockStart: CLOCK },
    );
    const { timerMs, timerAt } = await guest.nextIdle();
    expect(timerAt).toBe(CLOCK + 50_000_000);
    expect(timerMs).toBeLessThanOrEqual(50_000_000);
    expect(timerMs).toBeGreaterThan(49_000_000);
    guest.give(await guest.nextCall(), 1);
    expect((await guest.ended()).outcome).toMatchObject(returned(1));
  });

  it("is not over for a guest whose timer fires: it is reported anew, in the order of what it prints", async () => {
    const guest = await start('setTimeout(() => console.log("fired"), 20); return await tools.x.a({})');
    const before = await guest.nextIdle();
    expect(before.timerAt).not.toBeNull();
    const after = await guest.nextIdle();
    expect(after).toMatchObject({ timerMs: null, timerAt: null });
    expect(after.turn).toBeGreaterThan(before.turn);
    expect(guest.heard.map(([kind]) => kind)).toEqual(["call", "idle", "stdout", "idle"]);
    guest.give(await guest.nextCall(), 1);
    await guest.ended();
  });

  it("is not reported of a guest that ends", async () => {
    const guest = await start("await null; void tools.x.a({}); return 1");
    await guest.ended();
    expect(guest.heard.filter(([kind]) => kind === "idle")).toEqual([]);
  });

  it.each([true, false])("timers that were due before an outcome came fire first (live: %s)", async (live) => {
    const guest = await start(
      `const seen = [];
       setTimeout(() => seen.push("late"), 100_000); setTimeout(() => seen.push("second"), 40_000);
       setTimeout(() => { seen.push("first"); setTimeout(() => seen.push("nested"), 5_000) }, 30_000);
       seen.push(await tools.x.a({})); return seen`,
      { clockStart: CLOCK, live },
    );
    guest.give(await guest.nextCall(), "outcome", { at: CLOCK + 50_000 });
    expect((await guest.ended()).outcome).toMatchObject(returned(["first", "nested", "second", "outcome"]));
  });
}
