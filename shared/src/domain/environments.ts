import type { Language } from "./language.ts";

/** What a task asks for by name: the provider (and so the queue) behind it, and what it may run there. */
export interface Environment {
  readonly name: string;
  readonly provider: string;
  readonly languages: readonly Language[];
}

export const DEFAULT_ENVIRONMENT = "isolate";

/** The environments that are there without being made. */
export const BUILT_IN_ENVIRONMENTS: readonly Environment[] = [
  { name: "isolate", provider: "isolate", languages: ["JAVASCRIPT", "TYPESCRIPT"] },
  { name: "process", provider: "process", languages: ["JAVASCRIPT", "TYPESCRIPT", "PYTHON", "BASH"] },
  { name: "docker", provider: "docker", languages: ["JAVASCRIPT", "TYPESCRIPT", "PYTHON", "BASH", "BUN"] },
];

/** The providers behind them: the queues that tasks are put into. */
export const BUILT_IN_PROVIDERS: readonly string[] = [
  ...new Set(BUILT_IN_ENVIRONMENTS.map(({ provider }) => provider)),
];
