import { z } from "zod";
import { dependenciesFault } from "./dependencies.ts";
import { BUILT_IN_ENVIRONMENTS } from "./environments.ts";
import { LANGUAGES } from "./language.ts";
import type { SandboxLimits } from "./limits.ts";
import { refFault, repositoryUrlFault } from "./repository.ts";

/**
 * What becomes of a sandbox when its task ends. EPHEMERAL: destroyed. RETAIN_ON_FAILURE: a failed task's is kept for a
 * while. REUSE_BY_SESSION: the session's next task gets it, for tasks that are never replayed.
 */
export const LEASE_POLICIES = ["EPHEMERAL", "RETAIN_ON_FAILURE", "REUSE_BY_SESSION"] as const;
export type LeasePolicy = (typeof LEASE_POLICIES)[number];

/** NONE: tools are the only way out. There is no other yet. */
export const NETWORK_POLICIES = ["NONE"] as const;

/** Who says what an environment is: Airlock, the API, or a configuration file. */
export const ENVIRONMENT_SOURCES = ["BUILT_IN", "API", "CONFIG"] as const;
export type EnvironmentSource = (typeof ENVIRONMENT_SOURCES)[number];

export const ENVIRONMENT_BOUNDS = { aProject: 1_000, jsonBytes: 64 * 1024, retainMsMax: 7 * 24 * 3600_000 } as const;

const whole = (min: number, max: number) => z.int().min(min).max(max);
const storable = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => !text.includes("\0") && text.isWellFormed(), "is not well-formed text");

/** Makes a zod check of a function that says what is wrong. */
const reporting =
  <T>(faultOf: (value: T) => string | null) =>
  (value: T, context: z.core.$RefinementCtx): void => {
    const message = faultOf(value);
    if (message !== null) context.addIssue({ code: "custom", message });
  };

const limits: z.ZodType<Partial<SandboxLimits>> = z.strictObject({
  memoryBytes: whole(1024 * 1024, 2 ** 40).exactOptional(),
  pids: whole(1, 1_000_000).exactOptional(),
  cpus: z.number().positive().max(1_024).exactOptional(),
  diskBytes: whole(1024 * 1024, 2 ** 42).exactOptional(),
  files: whole(1, 100_000_000).exactOptional(),
});

const repository = z.strictObject({
  url: storable(2_048).superRefine(reporting(repositoryUrlFault)),
  /** A branch, a tag or a commit. */
  ref: storable(256).superRefine(reporting(refFault)).default("HEAD"),
  /** The name of one that the workers have for this URL (`AIRLOCK_GIT_CREDENTIALS`); never a secret. */
  credential: storable(128).nullable().default(null),
});

/** All that an environment is beside its name. Old ones stay, so that a task's re-run gets what its first run had. */
export const environmentDefinition = z.strictObject({
  provider: storable(64),
  /** Judged by the provider's own schema. */
  config: z.record(z.string(), z.json()).default({}),
  /** Only what differs from `DEFAULT_SANDBOX_LIMITS`. */
  limits: limits.default({}),
  /** A shell command that prepares the work area. */
  provision: storable(16_384).nullable().default(null),
  repository: repository.nullable().default(null),
  /** npm package name → range. */
  dependencies: z.record(z.string(), z.string()).superRefine(reporting(dependenciesFault)).default({}),
  leasePolicy: z.enum(LEASE_POLICIES).default("EPHEMERAL"),
  /** How long a failed task's sandbox is kept, or one that rests for its session's next task. */
  retainMs: whole(1_000, ENVIRONMENT_BOUNDS.retainMsMax).default(3600_000),
  languages: z.array(z.enum(LANGUAGES)).min(1),
  network: z.enum(NETWORK_POLICIES).default("NONE"),
});

export type EnvironmentDefinition = z.output<typeof environmentDefinition>;

/** What is wrong with a name for an environment, or null. */
export function environmentNameFault(name: string): string | null {
  if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(name)) {
    return "must be 1 to 63 of a-z, 0-9, `.`, `_` and `-`, and begin with a letter or digit";
  }
  if (BUILT_IN_ENVIRONMENTS.some((known) => known.name === name)) return "belongs to a built-in environment";
  return null;
}

/** The definition of a built-in environment: its provider, as it is. */
export function builtInDefinition(name: string): EnvironmentDefinition | null {
  const known = BUILT_IN_ENVIRONMENTS.find((environment) => environment.name === name);
  if (!known) return null;
  return environmentDefinition.parse({ provider: known.provider, languages: [...known.languages] });
}
