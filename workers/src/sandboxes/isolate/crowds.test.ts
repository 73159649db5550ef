import { afterAll, describe, expect, it } from "vitest";
import { startGuest } from "../../../testing/driven-guest.ts";
import { runProgram } from "../../../testing/run-program.ts";
import type { GuestCall } from "../port.ts";
import { createIsolateProvider } from "./index.ts";

/** Two threads: a third guest sends a waiting one off its thread, to be kept in the host. */
describe("more guests that wait for calls than there are threads", () => {
  const provider = createIsolateProvider({ maxThreads: 2 });
  afterAll(() => provider.close());
  const start = (code: string, options: object = {}) => startGuest(provider, { code, ...options });
  const returned = (value: unknown) => ({ kind: "returned", output: JSON.stringify(value) });
  /** Runs after it have needed every thread. */
  const crowd = async () => {
    const codes = Array.from({ length: 6 }, (_, i) => `return ${i}`);
    await Promise.all(codes.map((code) => runProgram(provider, { code })));
    const waiting = await Promise.all(codes.map(() => start("return await tools.x.y({})")));
    for (const guest of waiting) await guest.nextIdle();
    return async () => {
      for (const guest of waiting) guest.give(await guest.nextCall(), 0);
      await Promise.all(waiting.map((guest) => guest.ended()));
    };
  };

  it("each comes to its own end, whatever the order of the outcomes", async () => {
    const code = `const r = Math.random(); const a = await tools.x.a({ n: input }); const b = await tools.x.b({ a });
      return [input, a, b, r !== Math.random()]`;
    const guests = await Promise.all(Array.from({ length: 30 }, (_, i) => start(code, { input: String(i) })));
    const first = await Promise.all(guests.map((guest) => guest.nextCall()));
    for (const [i, guest] of [...guests.entries()].toReversed()) guest.give(first[i] as (typeof first)[0], `a${i}`);
    const second = await Promise.all(guests.map((guest) => guest.nextCall()));
    for (const [i, guest] of guests.entries()) guest.give(second[i] as (typeof second)[0], `b${i}`);
    const outcomes = (await Promise.all(guests.map((guest) => guest.ended()))).map(({ outcome }) => outcome);
    expect(outcomes).toMatchObject(guests.map((_, i) => returned([i, `a${i}`, `b${i}`, true])));
    expect(second.map(({ id, input }) => [id, input])).toEqual(
      guests.map((_, i) => [2, JSON.stringify({ a: `a${i}` })]),
    );
  });

  it("many calls at once, whose outcomes come one after the other: none is lost on the way to a guest that moves", async () => {
    const code = `const all = await Promise.all(Array.from({ length: 40 }, (_, n) => tools.x.a({ n }))); return all.length`;
    const guests = await Promise.all(Array.from({ length: 8 }, () => start(code)));
    const calls = await Promise.all(
      guests.map((guest) => Promise.all(Array.from({ length: 40 }, () => guest.nextCall()))),
    );
    for (let n = 0; n < 40; n++) {
      for (const [i, guest] of guests.entries()) guest.give(calls[i]?.[n] as GuestCall, n);
      if (n % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    for (const guest of guests) expect((await guest.ended()).outcome).toMatchObject(returned(40));
  });

  it("says nothing twice: one report of being idle for each time that it is, with numbers that rise", async () => {
    const guest = await start("for (let i = 0; i < 3; i++) await tools.x.a({ i }); return 1");
    for (let i = 0; i < 3; i++) {
      const call = await guest.nextCall();
      const disperse = await crowd();
      guest.give(call);
      await disperse();
    }
    await guest.ended();
    const turns = guest.heard.flatMap((each) => (each[0] === "idle" ? [each[1].turn] : []));
    expect(turns).toEqual([1, 2, 3]);
  });

  it("is parked where it is, by its last report and by no other", async () => {
    const code = "const a = await tools.x.a({}); return [a, await tools.x.b({})]";
    const guest = await start(code);
    const old = await guest.nextIdle();
    guest.give(await guest.nextCall(), 1);
    const idle = await guest.nextIdle();
    const disperse = await crowd();
    guest.running.park(old);
    const kept = await guest.park(idle);
    await disperse();
    const again = await start(code, { kept });
    again.give({ id: 2 }, 2);
    expect((await again.ended()).outcome).toMatchObject(returned([1, 2]));
  });

  it("is counted to the byte", async () => {
    const code = `const print = () => console.log("é".repeat(30)); print(); print(); await tools.x.a({}); print(); return 1`;
    const guest = await start(code, { limits: { keptOutputBytes: 100 } });
    const call = await guest.nextCall();
    const disperse = await crowd();
    guest.give(call);
    const { stdout, dropped } = await guest.ended();
    await disperse();
    expect([Buffer.byteLength(stdout), dropped]).toEqual([99, 3 * 61 - 99]);
  });

  it("is cancelled at once", async () => {
    const stop = new AbortController();
    const guest = await start("await tools.x.a({})", { signal: stop.signal });
    await guest.nextIdle();
    const disperse = await crowd();
    stop.abort();
    expect((await guest.ended()).outcome).toEqual({ kind: "cancelled" });
    await disperse();
  });

  it("is ended by TIMEOUT, away from its thread or back on one, and the message names its own limit", async () => {
    const limits = { timeoutMs: 1500 };
    const away = await start("await tools.x.a({})", { limits });
    const back = await start("await tools.x.a({}); for (;;) {}", { limits });
    const call = await back.nextCall();
    const disperse = await crowd();
    back.give(call);
    const failure = { failure: { code: "TIMEOUT", message: expect.stringContaining("1500") as string } };
    expect((await back.ended()).outcome).toMatchObject(failure);
    expect((await away.ended()).outcome).toMatchObject(failure);
    await disperse();
  });

  it("a re-run that is not live yet goes live where it is", async () => {
    const guest = await start("await tools.x.a({}); await new Promise((r) => setTimeout(r, 5)); return 1", {
      live: false,
    });
    const call = await guest.nextCall();
    const disperse = await crowd();
    guest.running.goLive();
    guest.give(call);
    expect((await guest.ended()).outcome).toMatchObject(returned(1));
    await disperse();
  });
});
