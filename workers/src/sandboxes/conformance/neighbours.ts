import type { GuestLimits } from "@airlock/shared/domain";
import { expect, it } from "vitest";
import { failed, returned, type Run } from "./expectations.ts";

/** Each leaves something behind; then, in the same project, each looks for what the others left. */
const LITTER = [
  "globalThis.left = 1; globalThis.console.left = 1; return",
  'Array.prototype.left = 1; Object.prototype.left = 1; Promise.prototype.then = () => { throw new Error("litter") }',
  'Math.random = () => 4; Date.now = () => 4; JSON.stringify = () => "4"; console.log = () => {}',
  'setTimeout(() => console.log("ghost"), 1); setInterval(() => console.log("ghost"), 1)',
  'void new Promise((resolve) => setTimeout(resolve, 1)).then(() => console.log("ghost")); throw new Error("litter")',
  'void (async () => { for (;;) { await null; globalThis.left = 1; } })(); throw new Error("litter")',
  "Object.freeze(Object.prototype); Object.freeze(globalThis); Object.defineProperty(Array.prototype, 0, { set() {} })",
];
const LOOK = `
  await new Promise((resolve) => setTimeout(resolve, 20));
  console.log("clean");
  const list = []; list[0] = 1;
  globalThis.own = 1;
  return [typeof left, [].left, ({}).left, console.left, list.length, Object.isFrozen(globalThis), Date.now() > 1000];`;
const CLEAN = { outcome: returned(["undefined", null, null, null, 1, false, true]), stdout: "clean\n", stderr: "" };

export function leftovers(run: Run): void {
  const clock = { clockStart: 1_700_000_000_000 };

  it.each(LITTER)("is not seen by the next one of the same project: %s", async (code) => {
    await run(code, { ...clock, projectId: "litterers", limits: { timeoutMs: 200 } });
    expect(await run(LOOK, { ...clock, projectId: "litterers" })).toMatchObject(CLEAN);
  });

  it("is not seen by neighbours that run at the same time", async () => {
    const littering = LITTER.map((code) => run(code, { projectId: "litterers", limits: { timeoutMs: 200 } }));
    const looking = LITTER.map(() => run(LOOK, { ...clock, projectId: "litterers" }));
    for (const ran of await Promise.all(looking)) expect(ran).toMatchObject(CLEAN);
    await Promise.all(littering);
  });
}

export function many(run: Run, isQuick: boolean): void {
  it("50 at once of all kinds, each gets its own answer", async () => {
    const kinds: readonly ((i: number) => { code: string; outcome: object; limits?: Partial<GuestLimits> })[] = [
      (i) => ({ code: `console.log(${i}); return ${i} * 2`, outcome: returned(i * 2) }),
      (i) => ({
        code: `console.log(${i}); throw new Error("no ${i}")`,
        outcome: failed("GUEST_ERROR", RegExp(`no ${i}$`)),
      }),
      (i) => ({
        code: `console.log(${i}); await new Promise((r) => setTimeout(r, ${i})); return "late ${i}"`,
        outcome: returned(`late ${i}`),
      }),
      (i) => ({
        code: `let n = 0; while (n < 1e5) n++; console.log(${i}); return n + ${i}`,
        outcome: returned(1e5 + i),
      }),
      (i) => ({
        code: `console.log(${i}); await new Promise((r) => setTimeout(r)); for (;;) {}`,
        outcome: failed("TIMEOUT"),
        // Long enough for a machine with much to do, on which fifty processes start at once.
        limits: { timeoutMs: isQuick ? 1000 : 6000 },
      }),
    ];
    const guests = Array.from({ length: 50 }, (_, i) => (kinds[i % kinds.length] as (typeof kinds)[number])(i));
    const runs = guests.map(({ code, limits }, i) =>
      run(code, { projectId: `project ${i % 3}`, ...(limits && { limits }) }),
    );
    const expected = guests.map(({ outcome }, i) => ({ outcome, stdout: `${i}\n`, stderr: "", dropped: 0 }));
    expect(await Promise.all(runs)).toMatchObject(expected);
  });
}
