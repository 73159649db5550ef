import { expect, it } from "vitest";
import { type DrivenGuest, startGuest } from "../../../testing/driven-guest.ts";
import type { KeptState, SandboxProvider } from "../port.ts";
import { failed, returned, type Start } from "./expectations.ts";

const CLOCK = 1_700_000_000_000;

/** Parks it as soon as it waits. */
async function keep(guest: DrivenGuest): Promise<KeptState> {
  const kept = await guest.park(await guest.nextIdle());
  if (kept === null) throw new Error("nothing was kept");
  return kept;
}

const callOf = (id: number) => ({ id });

export function parkingBySnapshot(start: Start, makeProvider: () => SandboxProvider): void {
  whatIsKept(start);
  whenItIsKept(start);
  whereItIsRestored(start, makeProvider);
}

function whatIsKept(start: Start): void {
  it("variables, closures, prototypes and pending awaits go on where they were", async () => {
    const code = `
      class Counter { #n = 41; next() { return ++this.#n } }
      const counter = new Counter(), map = new Map([[{}, "kept"]]), bytes = new Uint8Array([1, 2, 3]);
      Array.prototype.mine = () => "patched"; globalThis.shared = counter;
      const inner = async () => { try { return await tools.x.a({}) } finally { bytes[0] = 9 } };
      const value = await inner();
      return [value, shared.next(), [...map.values()], [...bytes], [].mine(), counter instanceof Counter, input]`;
    const kept = await keep(await start(code, { input: '{"n":1}' }));
    const again = await start(code, { kept, input: '{"n":1}' });
    again.give(callOf(1), "given");
    const expected = ["given", 42, ["kept"], [9, 2, 3], "patched", true, { n: 1 }];
    expect((await again.ended()).outcome).toMatchObject(returned(expected));
  });

  it("a timer still fires, and neither before nor instead of what was printed", async () => {
    const code = `setTimeout(() => console.log("fired"), 50); const value = await tools.x.a({}); return value`;
    const clockStart = Date.now();
    const first = await start(code, { clockStart });
    const kept = await keep(first);
    expect(first.heard.at(-1)).toMatchObject(["idle", { timerAt: clockStart + 50 }]);
    const again = await start(code, { kept, clockStart });
    // With or without its timer, as fast as the machine is.
    for (let idle = await again.nextIdle(); idle.timerAt !== null; idle = await again.nextIdle());
    again.give(callOf(1), "given", { at: Date.now() });
    expect(await again.ended()).toMatchObject({ outcome: returned("given"), stdout: "fired\n" });
  });

  it("timers that came due while it was parked fire in their order, before the outcome that woke it", async () => {
    const code = `const seen = []; setTimeout(() => seen.push("b"), 60_000); setTimeout(() => seen.push("a"), 50_000);
      seen.push(await tools.x.a({})); return seen`;
    const kept = await keep(await start(code, { clockStart: CLOCK }));
    const again = await start(code, { kept, clockStart: CLOCK });
    again.give(callOf(1), "outcome", { at: CLOCK + 70_000 });
    expect((await again.ended()).outcome).toMatchObject(returned(["a", "b", "outcome"]));
  });

  it("clock and randomness go on as if it had not been parked", async () => {
    const code = `const look = () => [Math.random(), crypto.randomUUID(), Date.now(), performance.now(), performance.timeOrigin];
      const before = look(); await tools.x.a({}); return [before, look()]`;
    const world = { seed: "ab", clockStart: CLOCK };
    const straight = await start(code, world);
    straight.give(await straight.nextCall(), null, { at: CLOCK + 5_000_000 });
    const kept = await keep(await start(code, world));
    const parked = await start(code, { ...world, kept });
    parked.give(callOf(1), null, { at: CLOCK + 5_000_000 });
    const { outcome } = await parked.ended();
    expect(outcome.kind).toBe("returned");
    expect(outcome).toEqual((await straight.ended()).outcome);
  });

  it("what it printed counts on: the limits are those of the whole task", async () => {
    const code = `const print = () => console.log("x".repeat(59));
      print(); await tools.x.a({}); print(); await tools.x.b({}); print(); return 1`;
    const limits = { keptOutputBytes: 100, outputBytes: 150 };
    const first = await start(code, { limits });
    const kept = await keep(first);
    expect(await first.ended()).toMatchObject({ stdout: `${"x".repeat(59)}\n`, dropped: 0 });
    const second = await start(code, { limits, kept });
    second.give(callOf(1));
    await second.nextCall();
    // Its first report was of where it was kept.
    await second.nextIdle();
    const keptAgain = await keep(second);
    expect(await second.ended()).toMatchObject({ stdout: "x".repeat(40), dropped: 20 });
    const third = await start(code, { limits, kept: keptAgain });
    third.give(callOf(2));
    const ran = await third.ended();
    expect(ran).toMatchObject({ outcome: failed("OUTPUT_LIMIT"), stdout: "", dropped: 60 });
  });

  it("calls made side by side are settled one by one, each by another segment", async () => {
    const code = `const all = ["a", "b", "c"].map((name) => tools.x[name]({})); const order = [];
      all.forEach((call, i) => call.then((value) => order.push([i, value]))); await Promise.all(all); return order`;
    let kept = await keep(await start(code));
    for (const id of [2, 3]) {
      const guest = await start(code, { kept });
      guest.give(callOf(id), id);
      await guest.nextIdle();
      kept = await keep(guest);
    }
    const last = await start(code, { kept });
    last.give(callOf(1), 1);
    expect((await last.ended()).outcome).toMatchObject(
      returned([
        [1, 2],
        [2, 3],
        [0, 1],
      ]),
    );
  });

  it("again and again: twenty segments, and the numbers of its calls go on", async () => {
    const code = "let sum = 0; for (let i = 0; i < 20; i++) sum += await tools.x.a({ i }); return sum";
    let kept: KeptState | null = null;
    for (let id = 1; id <= 20; id++) {
      const guest: DrivenGuest = await start(code, { kept });
      if (kept !== null) {
        guest.give(callOf(id - 1), id - 1);
        await guest.nextIdle();
      }
      expect(await guest.nextCall()).toMatchObject({ id, path: "x.a", input: JSON.stringify({ i: id - 1 }) });
      kept = await keep(guest);
    }
    const last = await start(code, { kept });
    last.give(callOf(20), 20);
    expect((await last.ended()).outcome).toMatchObject(returned(210));
  });
}

function whenItIsKept(start: Start): void {
  it("parking after something happened since the report does nothing", async () => {
    const guest = await start("const a = await tools.x.a({}); const b = await tools.x.b({}); return [a, b]");
    const first = await guest.nextCall();
    const old = await guest.nextIdle();
    guest.give(first, 1);
    guest.running.park(old);
    const second = await guest.nextCall();
    await guest.nextIdle();
    guest.running.park(old);
    guest.give(second, 2);
    expect((await guest.ended()).outcome).toMatchObject(returned([1, 2]));
  });

  it("what comes after it was parked changes nothing of what was kept", async () => {
    const code = "return await tools.x.a({})";
    const guest = await start(code);
    const call = await guest.nextCall();
    const idle = await guest.nextIdle();
    guest.running.park(idle);
    guest.give(call, "too late");
    const { outcome } = await guest.ended();
    if (outcome.kind !== "parked") throw new Error(JSON.stringify(outcome));
    const again = await start(code, { kept: outcome.kept });
    again.give(call, "in time");
    expect((await again.ended()).outcome).toMatchObject(returned("in time"));
  });

  it("a guest whose state was kept before it is live goes on before it is live", async () => {
    const code = `setTimeout(() => console.log("fired"), 1); await tools.x.a({}); return 1`;
    const kept = await keep(await start(code, { live: false, clockStart: CLOCK }));
    const again = await start(code, { kept, live: false, clockStart: CLOCK });
    const idle = await again.nextIdle();
    expect(idle).toMatchObject({ timerAt: CLOCK + 1 });
    again.running.tick(idle);
    expect(await again.nextIdle()).toMatchObject({ timerAt: null });
    again.running.goLive();
    again.give(callOf(1));
    expect(await again.ended()).toMatchObject({ outcome: returned(1), stdout: "fired\n" });
  });
}

function whereItIsRestored(start: Start, makeProvider: () => SandboxProvider): void {
  it("two from one state are two: answered differently, each goes its own way", async () => {
    const code = "const list = []; list.push(await tools.x.a({})); list.push(await tools.x.b({})); return list";
    const kept = await keep(await start(code));
    const fork = async (answer: string) => {
      const guest = await start(code, { kept });
      guest.give(callOf(1), answer);
      guest.give(await guest.nextCall(), `after ${answer}`);
      return (await guest.ended()).outcome;
    };
    const [yes, no] = await Promise.all([fork("yes"), fork("no")]);
    expect(yes).toMatchObject(returned(["yes", "after yes"]));
    expect(no).toMatchObject(returned(["no", "after no"]));
  });

  it("another instance of the provider, with processes of its own, restores it", async () => {
    const code = "const before = [1, 2]; return [before, await tools.x.a({})]";
    const kept = await keep(await start(code));
    const other = makeProvider();
    try {
      const guest = await startGuest(other, { code, kept });
      expect(await other.probe()).toMatchObject({ image: kept.image });
      guest.give(callOf(1), "elsewhere");
      expect((await guest.ended()).outcome).toMatchObject(returned([[1, 2], "elsewhere"]));
    } finally {
      await other.close();
    }
  });

  it("a restored guest is cancelled and timed out like any other", async () => {
    const code = "await tools.x.a({}); for (;;) {}";
    const kept = await keep(await start(code));
    const late = await start(code, { kept, limits: { timeoutMs: 300 } });
    late.give(callOf(1));
    expect((await late.ended()).outcome).toMatchObject(failed("TIMEOUT", /300/));
    const stop = new AbortController();
    const stopped = await start(code, { kept, signal: stop.signal });
    await stopped.nextIdle();
    stop.abort();
    expect((await stopped.ended()).outcome).toEqual({ kind: "cancelled" });
  });
}

export function parkingByReplay(provider: SandboxProvider, start: Start): void {
  it("ends the guest with nothing kept; the program, run again with what was recorded, goes on", async () => {
    const code = 'console.log("once"); const a = await tools.x.a({}); return [a, await tools.x.b({ a })]';
    const first = await start(code);
    first.give(await first.nextCall(), 1);
    await first.nextCall();
    let idle = await first.nextIdle();
    if (idle.turn === 1) idle = await first.nextIdle();
    expect(await first.park(idle)).toBeNull();
    const again = await start(code, { live: false });
    again.give(await again.nextCall(), 1);
    const second = await again.nextCall();
    again.running.goLive();
    again.give(second, 2);
    expect((await again.ended()).outcome).toMatchObject(returned([1, 2]));
  });

  it("says that it restores no state", async () => {
    expect(await provider.probe()).toMatchObject({ image: null });
  });
}
