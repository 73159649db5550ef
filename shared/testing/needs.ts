import { describe, test } from "vitest";
import { isRequired, type Need } from "./probes.ts";
import { services } from "./services.ts";

export type { Need };

/** Whether everything asked for is here. Prefer `describeNeeding`, which also leaves a trace in the summary. */
export function needs(...wanted: Need[]): boolean {
  return wanted.every((need) => services().absent[need] === undefined);
}

/**
 * A suite that runs only where its needs are met. Elsewhere its tests are skipped and the summary says why; where the
 * run was told to require them, their absence is a failure.
 */
export function describeNeeding(wanted: Need | readonly Need[], name: string, body: () => void): void {
  const list = typeof wanted === "string" ? [wanted] : wanted;
  const missing = list.filter((need) => !needs(need));
  if (missing.length === 0) {
    describe(name, body);
    return;
  }
  const required = missing.filter((need) => isRequired(need, process.env["AIRLOCK_TEST_REQUIRE"]));
  if (required.length === 0) {
    describe.skip(skipTitle(name, missing), body);
    return;
  }
  describe(name, () => {
    test.each(required)("finds its need: %s", (need) => {
      throw new Error(`AIRLOCK_TEST_REQUIRE asks for ${need}, but ${services().absent[need]}`);
    });
  });
}

export function describeWithRedis(name: string, body: () => void): void {
  describeNeeding("redis", name, body);
}

/** The title carries the needs to the reporter, which lives in another process. */
function skipTitle(name: string, missing: readonly Need[]): string {
  return `${name} [needs ${missing.join(", ")}]`;
}

export function readSkipTitle(title: string): Need[] {
  return (/\[needs ([^\]]+)\]$/.exec(title)?.[1]?.split(", ") ?? []) as Need[];
}
