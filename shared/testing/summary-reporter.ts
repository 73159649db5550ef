import { appendFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";
import { findLeaks } from "./leaks.ts";
import { readSkipTitle } from "./needs.ts";
import type { TestServices } from "./services.ts";

/** Ends the run with what was skipped and why, what still runs and should not, and one plain line of counts. */
export class SummaryReporter implements Reporter {
  #vitest: Vitest | null = null;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  /** For whoever has to know how far a run came that was cut off: the files that passed, as they do. */
  onTestModuleEnd(module: TestModule): void {
    const file = process.env["AIRLOCK_TEST_PASSED"];
    if (file !== undefined && module.state() === "passed") appendFileSync(file, `${module.relativeModuleId}\n`);
  }

  async onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): Promise<void> {
    const services = this.#services();
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const leaks = await findLeaks(services?.pids ?? [], 3_000);
    const broken = modules.reduce((sum, module) => sum + countBroken(module), 0);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;

    const lines = skippedNeeds(tests, services?.absent ?? {});
    if (leaks.length > 0) {
      lines.push("left running by tests:", ...leaks.map((leak) => `  ${leak}`));
      process.exitCode = 1;
    }
    const failed = count("failed") + broken + unhandled.length + (leaks.length > 0 ? 1 : 0);
    const skipped = count("skipped") + count("pending");
    lines.push(`${count("passed")} passed, ${failed} failed, ${skipped} skipped`);
    process.stdout.write(`\n${lines.join("\n")}\n`);
  }

  #services(): TestServices | null {
    const context = this.#vitest?.getRootProject().getProvidedContext() as { airlock?: TestServices } | undefined;
    return context?.airlock ?? null;
  }
}

/** Files and suites that failed outside of any test: a syntax error, a beforeAll that threw. */
function countBroken(suite: TestModule | TestSuite): number {
  const own = suite.errors().length > 0 ? 1 : 0;
  return [...suite.children.suites()].reduce((sum, child) => sum + countBroken(child), own);
}

function skippedNeeds(tests: readonly TestCase[], reasons: Partial<Record<string, string>>): string[] {
  const counts = new Map<string, number>();
  for (const test of tests) {
    for (const need of needsOf(test)) counts.set(need, (counts.get(need) ?? 0) + 1);
  }
  const lines = [...counts].map(([need, tests]) => `  ${need}: ${reasons[need] ?? "absent"} (${tests} skipped)`);
  return lines.length === 0 ? [] : ["skipped for want of:", ...lines];
}

function needsOf(test: TestCase): string[] {
  const needs: string[] = [];
  for (let parent: TestSuite | TestModule = test.parent; parent.type === "suite"; parent = parent.parent) {
    needs.push(...readSkipTitle(parent.name));
  }
  return needs;
}
