import { zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ProgramOptions, startGuest } from "../../../testing/driven-guest.ts";
import { runProgram } from "../../../testing/run-program.ts";
import type { KeptState } from "../port.ts";
import { createIsolateProvider, type IsolateProvider } from "./index.ts";

let provider: IsolateProvider;
let pids: number[];

/** One thread: every guest comes after another one. */
beforeAll(async () => {
  provider = createIsolateProvider({ maxThreads: 1 });
  await runProgram(provider, { code: "" });
  pids = await provider.hostPids();
});
afterAll(() => provider.close());

async function keep(options: ProgramOptions): Promise<KeptState> {
  const guest = await startGuest(provider, options);
  return (await guest.park(await guest.nextIdle())) as KeptState;
}

async function wake(kept: KeptState, options: ProgramOptions, value: unknown = null) {
  const guest = await startGuest(provider, { ...options, kept });
  guest.give({ id: 1 }, value);
  return guest.ended();
}

const returned = (value: unknown) => ({ kind: "returned", output: JSON.stringify(value) });

describe("a snapshot", () => {
  it("of a small guest takes less than 4 kB", async () => {
    const code = `const order = { id: 7, items: [{ sku: "a", n: 1 }] };
      const approved = await tools.orders.place(order); return { approved, order }`;
    const kept = await keep({ code });
    expect(kept.state.length).toBeLessThan(4096);
    expect((await wake(kept, { code }, true)).outcome.kind).toBe("returned");
  });

  it("of a guest whose memory grew holds all of it, on a machine that has to grow for it", async () => {
    const code = `
      const held = []; for (let i = 0; i < 24; i++) held.push(new Uint8Array(1e6).fill(i + 1));
      const text = "grown".repeat(200_000); const before = held.length; await tools.x.y({});
      return [before, held.map((bytes) => bytes[0] === bytes[999_999] && bytes[500_000]), text.length, text.slice(-5)]`;
    const kept = await keep({ code });
    const bytes = Array.from({ length: 24 }, (_, i) => i + 1);
    for (let i = 0; i < 2; i++) {
      expect((await wake(kept, { code })).outcome).toMatchObject(returned([24, bytes, 1_000_000, "grown"]));
    }
  });

  it("holds nothing of what the guest has given back, but the size of its memory", async () => {
    const code = `let held = Array.from({ length: 2e5 }, (_, i) => ({ i })); const n = held.length; held = null;
      await tools.x.y({}); return n`;
    const kept = await keep({ code });
    expect((await wake(kept, { code })).outcome).toMatchObject(returned(200_000));
  });

  it("of a guest that may have less memory now is refused, where it does not fit", async () => {
    const code = "const held = new Uint8Array(50e6).fill(7); await tools.x.y({}); return held.length";
    const kept = await keep({ code });
    const { outcome } = await wake(kept, { code, limits: { memoryBytes: 16 * 1024 * 1024 } });
    expect(outcome).toMatchObject({ kind: "failed", failure: { code: "SANDBOX_FAILED" } });
  });

  it("is restored on a thread and a machine that served another guest before, and leaves nothing to the next", async () => {
    const code = "const mine = [1]; mine.push(await tools.x.y({})); return [mine, typeof left, [].left ?? null]";
    const litter = "globalThis.left = 1; Array.prototype.left = 1; setInterval(() => {}, 1); return 1";
    const kept = await keep({ code });
    for (let i = 0; i < 3; i++) {
      await runProgram(provider, { code: litter });
      expect((await wake(kept, { code }, i)).outcome).toMatchObject(returned([[1, i], "undefined", null]));
    }
    const look = await runProgram(provider, { code: "return [typeof mine, typeof left, [].left ?? null]" });
    expect(look.outcome).toMatchObject(returned(["undefined", "undefined", null]));
  });

  it("never mixes with another's: guests kept and woken in turns on one machine stay themselves", async () => {
    const code = `const me = input, seen = [Math.random()]; globalThis.who = me;
      seen.push(await tools.x.y({ me })); return [me, who, seen[1], seen[0] === Math.random()]`;
    const names = ["a", "b", "c", "d"];
    const options = (name: string) => ({ code, input: JSON.stringify(name), seed: name });
    const kept = new Map<string, KeptState>();
    for (const name of names) kept.set(name, await keep(options(name)));
    for (const name of [...names.toReversed(), ...names]) {
      const { outcome } = await wake(kept.get(name) as KeptState, options(name), `for ${name}`);
      expect(outcome).toMatchObject(returned([name, name, `for ${name}`, false]));
    }
  });

  it("wakes with its timers, intervals and cleared ones alike", async () => {
    const code = `const seen = []; const gone = setTimeout(() => seen.push("gone"), 5);
      const tick = setInterval(() => { seen.push("tick"); if (seen.length === 3) clearInterval(tick) }, 10);
      setTimeout(() => seen.push("once"), 15); clearTimeout(gone);
      const value = await tools.x.y({}); await new Promise((resolve) => setTimeout(resolve, 100)); return [...seen, value]`;
    const clockStart = Date.now();
    const kept = await keep({ code, clockStart });
    const guest = await startGuest(provider, { code, clockStart, kept });
    for (let idle = await guest.nextIdle(); idle.timerAt !== null; idle = await guest.nextIdle());
    guest.give({ id: 1 }, "woken", { at: Date.now() });
    expect((await guest.ended()).outcome).toMatchObject(returned(["tick", "once", "tick", "woken"]));
  });
});

describe("a state that is not what was kept", () => {
  const options = {
    code: "const held = Array.from({ length: 500 }, (_, i) => [i]); return [await tools.x.y({}), held.length]",
    limits: { memoryBytes: 16 * 1024 * 1024 },
  };
  let kept: KeptState;
  beforeAll(async () => {
    kept = await keep(options);
  });

  const FAILS = { kind: "failed", failure: { code: "SANDBOX_FAILED" } };
  const cut = (part: number) => (state: Buffer) => state.subarray(0, Math.floor(state.length * part));
  const flip = (part: number) => (state: Buffer) => {
    const changed = Buffer.from(state);
    const at = Math.floor(state.length * part);
    changed[at] = (changed[at] as number) ^ 0x10;
    return changed;
  };

  it.each<[string, (state: Buffer) => Buffer]>([
    ["empty", () => Buffer.alloc(0)],
    ["a byte", () => Buffer.of(1)],
    ["text", () => Buffer.from("not a snapshot at all")],
    ["an empty stream", () => zstdCompressSync(Buffer.alloc(0))],
    ["zeros", () => zstdCompressSync(Buffer.alloc(4096))],
    ["a header that lies", () => zstdCompressSync(Buffer.alloc(64, 0xff))],
    ["a bomb", () => zstdCompressSync(Buffer.alloc(128 * 1024 * 1024))],
    ...[0.1, 0.5, 0.9, 0.999].map((part): [string, (state: Buffer) => Buffer] => [`cut at ${part}`, cut(part)]),
    ...[0.01, 0.3, 0.6, 0.95].map((part): [string, (state: Buffer) => Buffer] => [`flipped at ${part}`, flip(part)]),
  ])("ends its guest with a code, and nobody else: %s", async (_, damage) => {
    const { outcome } = await wake({ image: kept.image, state: damage(kept.state) }, options);
    expect(outcome).toMatchObject(FAILS);
    expect((await wake(kept, options, "still")).outcome).toMatchObject(returned(["still", 500]));
    expect(await provider.hostPids()).toEqual(pids);
  });
});
