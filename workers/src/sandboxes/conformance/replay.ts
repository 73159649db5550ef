import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { failed, returned, type Start } from "./expectations.ts";

const CLOCK = 1_700_000_000_000;

export function replay(start: Start): void {
  it("makes the same calls, prints the same and returns the same, given the same outcomes", async () => {
    const code = `
      const note = () => console.log(Date.now(), Math.random(), crypto.randomUUID(), performance.now());
      note(); const slow = tools.x.slow({ id: crypto.randomUUID() });
      setTimeout(() => { note(); void tools.x.timed({ at: Date.now() }) }, 10);
      const [a, b] = await Promise.all([tools.x.a({ at: Date.now() }), slow]); note();
      await new Promise((resolve) => setTimeout(resolve, 30)); note();
      return [a, b, Date.now()]`;
    const world = { seed: "5eed", clockStart: CLOCK };
    const answer = { slow: [2000, "slow"], a: [1000, "a"], timed: [3000, "timed"] } as const;
    const drive = async (live: boolean) => {
      const guest = await start(code, { ...world, live });
      const made = new Map<string, Parameters<typeof guest.give>[0]>();
      const take = async () => {
        const call = await guest.nextCall();
        made.set(call.path.slice(2), call);
      };
      await take();
      await take();
      // Given once the guest has drained, as they were recorded.
      for (const name of ["a", "slow"] as const) {
        const call = made.get(name) as Parameters<typeof guest.give>[0];
        guest.give(call, answer[name][1], { at: CLOCK + answer[name][0] });
      }
      if (!live) guest.running.goLive();
      const ran = await guest.ended();
      return { outcome: ran.outcome, output: ran.output, calls: guest.calls };
    };
    const first = await drive(true);
    expect(first.outcome.kind).toBe("returned");
    expect(first.calls.map(({ path }) => path)).toEqual(["x.slow", "x.a", "x.timed"]);
    expect(await drive(false)).toEqual(first);
  });

  it("its timers do not go by the clock: the first one fires when it is told to", async () => {
    const guest = await start(
      `setTimeout(() => console.log("two"), 2); setTimeout(() => console.log("one"), 1); await tools.x.a({})`,
      { clockStart: CLOCK, live: false },
    );
    const one = await guest.nextIdle();
    expect(one).toMatchObject({ timerAt: CLOCK + 1 });
    await sleep(50);
    expect(guest.heard.map(([kind]) => kind)).toEqual(["call", "idle"]);
    guest.running.tick(one);
    const two = await guest.nextIdle();
    expect(two).toMatchObject({ timerAt: CLOCK + 2 });
    expect(guest.heard.at(-2)).toEqual(["stdout", "one\n"]);
    guest.running.tick(one);
    guest.running.tick(two);
    expect(await guest.nextIdle()).toMatchObject({ timerAt: null });
    expect(guest.heard.at(-2)).toEqual(["stdout", "two\n"]);
    guest.give(await guest.nextCall());
    await guest.ended();
  });

  it("its timers go by the clock once it is live", async () => {
    // Long enough to be idle before, also on a machine with much to do: not idle, it would fire by itself.
    const code = "await tools.x.a({}); await new Promise((resolve) => setTimeout(resolve, 300)); return 1";
    const guest = await start(code, { live: false });
    guest.give(await guest.nextCall());
    // A report from before the outcome may come first, or not at all.
    while ((await guest.nextIdle()).timerAt === null);
    guest.running.goLive();
    expect((await guest.ended()).outcome).toMatchObject(returned(1));
  });

  it("time before it is live is not counted", async () => {
    const guest = await start("await tools.x.a({}); return await tools.x.b({})", {
      live: false,
      limits: { timeoutMs: 300 },
      replayMs: 60_000,
    });
    const first = await guest.nextCall();
    await sleep(600);
    guest.give(first);
    const second = await guest.nextCall();
    guest.running.goLive();
    guest.give(second, "in time");
    expect((await guest.ended()).outcome).toMatchObject(returned("in time"));
  });

  it("time counts once it is live", async () => {
    const code = "await tools.x.a({}); for (;;) {}";
    const guest = await start(code, { live: false, limits: { timeoutMs: 300 }, replayMs: 60_000 });
    const call = await guest.nextCall();
    guest.running.goLive();
    guest.give(call);
    expect((await guest.ended()).outcome).toMatchObject(failed("TIMEOUT", /300/));
  });

  it("one that never comes to where it was is ended, too", async () => {
    const guest = await start("for (;;) {}", { live: false, replayMs: 300 });
    expect((await guest.ended()).outcome).toMatchObject(failed("TIMEOUT"));
  });
}
