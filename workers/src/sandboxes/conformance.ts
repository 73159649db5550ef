import { afterAll, describe } from "vitest";
import { startGuest } from "../../testing/driven-guest.ts";
import { runProgram } from "../../testing/run-program.ts";
import { calls } from "./conformance/calls.ts";
import { declarations } from "./conformance/declarations.ts";
import { determinism } from "./conformance/determinism.ts";
import { failures, results } from "./conformance/ends-of-programs.ts";
import type { Run, Start } from "./conformance/expectations.ts";
import { idling } from "./conformance/idling.ts";
import { ends, leases } from "./conformance/leases.ts";
import { layers } from "./conformance/layers.ts";
import { limits, time } from "./conformance/limits.ts";
import { leftovers, many } from "./conformance/neighbours.ts";
import { output } from "./conformance/output.ts";
import { parkingByReplay, parkingBySnapshot } from "./conformance/parking.ts";
import { bash, files, processes } from "./conformance/work-area.ts";
import { replay } from "./conformance/replay.ts";
import type { SandboxProvider } from "./port.ts";

/**
 * The definition of done for a provider: what every one of them does alike. Its programs are JavaScript, which every
 * provider runs. What one cannot do is said by its `capabilities`; no test here is skipped for anyone.
 */
export function describeConformance(name: string, makeProvider: () => SandboxProvider): void {
  describe(`conformance of ${name}`, () => {
    const provider = makeProvider();
    afterAll(() => provider.close());
    const snapshot = provider.capabilities.keptBy === "snapshot";
    const run: Run = (code, options = {}) => runProgram(provider, { code, ...options });
    const start: Start = (code, options = {}) => startGuest(provider, { code, ...options });

    describe("what it declares", () => declarations(provider, run));
    describe("output", () => output(run));
    describe("the returned value", () => results(run));
    describe("failures", () => failures(run));
    describe("clock and randomness", () => determinism(run, provider.capabilities.workArea));
    describe("time", () => time(run));
    describe("limits", () => limits(run, provider));
    describe("what an earlier guest left behind", () => leftovers(run));
    describe("many guests", () => many(run, snapshot));
    describe("calls", () => calls(start));
    describe("a guest that waits", () => idling(start));
    describe("a guest that is run again", () => replay(start));
    describe("parking", () => (snapshot ? parkingBySnapshot(start, makeProvider) : parkingByReplay(provider, start)));
    const { workArea, languages } = provider.capabilities;
    if (workArea) describe("files", () => files(start));
    if (workArea) describe("layers", () => layers(start));
    if (workArea) describe("processes", () => processes(run, start));
    if (languages.includes("BASH")) describe("Bash", () => bash(start));
    describe("the end of a lease", () => leases(run));
    describe("the end of the provider", () => ends(makeProvider));
  });
}
