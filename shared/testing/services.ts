import { inject } from "vitest";
import type { Need } from "./probes.ts";

/** What the global set-up hands to every test file. */
export interface TestServices {
  /** Server address without a database; the role may create databases. */
  readonly postgresUrl: string;
  readonly template: string;
  readonly redisUrl: string | null;
  /** Why a need is not met here; absent keys are met. */
  readonly absent: Partial<Record<Need, string>>;
  /** Where the run's container engine is, once a test has asked for it. */
  readonly dockerFolder: string;
  /** Processes that outlive the test files on purpose. */
  readonly pids: readonly number[];
}

declare module "vitest" {
  interface ProvidedContext {
    airlock: TestServices;
  }
}

export function services(): TestServices {
  return inject("airlock");
}
