import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { expect, it, vi } from "vitest";
import { type DrivenGuest, startGuest } from "../../testing/driven-guest.ts";
import { DOUBLE_CREDENTIALS, startVercelDouble } from "../../testing/vercel-double/index.ts";
import { createDockerProvider } from "./docker/index.ts";
import { createIsolateProvider } from "./isolate/index.ts";
import type { GuestIdle, KeptState, SandboxProvider } from "./port.ts";
import { createProcessProvider } from "./process/index.ts";
import { createVercelProvider } from "./vercel/index.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const CLOCK = 1_700_000_000_000;
const DECIDED = [
  { at: CLOCK + 3_600_000, value: { first: "yes" } },
  { at: CLOCK + 7_200_000, value: ["second", 2] },
] as const;
const CODE = `
  const seen = [Math.random(), crypto.randomUUID(), Date.now()];
  console.log("before", input.name);
  seen.push(await tools.deploy.plan({ dice: Math.random() }));
  console.log("between", new Date().toISOString());
  seen.push(await tools.deploy.apply({ id: crypto.randomUUID() }), Math.random(), performance.now());
  console.log("after");
  return seen`;

interface Told {
  readonly calls: readonly (readonly [string, string])[];
  readonly output: unknown;
  readonly printed: string;
}

/** Parks at each call, is approved an hour later, and goes on in a sandbox of its own. */
async function runParked(provider: SandboxProvider): Promise<Told> {
  let kept: KeptState | null = null;
  let printed = "";
  const calls: (readonly [string, string])[] = [];
  for (let decided = 0; ; decided++) {
    const replayed = kept === null && decided > 0;
    const world = { code: CODE, input: '{"name":"x"}', seed: "5eed", clockStart: CLOCK, kept, live: !replayed };
    const guest: DrivenGuest = await startGuest(provider, world);
    for (let i = replayed ? 0 : Math.max(0, decided - 1); i < decided; i++) {
      const call = kept === null ? await guest.nextCall() : { id: decided };
      // What was decided last is new; what was decided before it is given again.
      if (replayed && i === decided - 1) guest.running.goLive();
      guest.give(call, DECIDED[i]?.value, { at: DECIDED[i]?.at ?? 0 });
    }
    if (decided === DECIDED.length) {
      const { outcome, stdout } = await guest.ended();
      if (outcome.kind !== "returned") throw new Error(JSON.stringify(outcome));
      return {
        calls,
        output: JSON.parse(outcome.output ?? "null"),
        printed: kept === null ? stdout : printed + stdout,
      };
    }
    const { path, input } = await guest.nextCall();
    calls.push([path, input]);
    kept = await guest.park(await idleAfterCall(guest));
    if (kept !== null) printed += (await guest.ended()).stdout;
  }
}

/** A report from before the call parks nothing. */
async function idleAfterCall(guest: DrivenGuest): Promise<GuestIdle> {
  for (;;) {
    const idle = await guest.nextIdle();
    const at = guest.heard.findIndex(([kind, what]) => kind === "idle" && what === idle);
    if (at > guest.heard.findLastIndex(([kind]) => kind === "call")) return idle;
  }
}

async function inTheIsolate(): Promise<Told> {
  const provider = createIsolateProvider();
  try {
    return await runParked(provider);
  } finally {
    await provider.close();
  }
}

async function expectTheSame(provider: SandboxProvider): Promise<void> {
  try {
    expect(await runParked(provider)).toEqual(await inTheIsolate());
  } finally {
    await provider.close();
  }
}

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

it("a program with two approvals keeps its clock, its randomness and its output, in the isolate", async () => {
  const told = await inTheIsolate();
  expect(told.printed).toBe(`before x\nbetween ${new Date(CLOCK + 3_600_000).toISOString()}\nafter\n`);
  expect(told.calls.map(([path]) => path)).toEqual(["deploy.plan", "deploy.apply"]);
});

describeNeeding(["root", "bwrap"], "the same program with two approvals", () => {
  it("calls, prints and returns the same behind Linux namespaces", () => expectTheSame(createProcessProvider()));

  it("calls, prints and returns the same in a microVM", async () => {
    const double = await startVercelDouble();
    try {
      const credentials = DOUBLE_CREDENTIALS;
      await expectTheSame(createVercelProvider({ credentials, fetch: (input, init) => double.fetch(input, init) }));
    } finally {
      await double.close();
    }
  });
});

describeNeeding("docker", "the same program with two approvals", () => {
  it("calls, prints and returns the same in a container", () => expectTheSame(createDockerProvider(engine)));
});
