import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import type { Database } from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import type { WorkerEnv } from "../env.ts";
import { secretsOf } from "./npm.ts";
import { createProvisioning, type Provisioning } from "./provisioning.ts";

const MIB = 1024 * 1024;
/** Twice as many files as a layer may have: npm keeps a cache beside it. Half of the machine is left to tasks. */
const STEP_BOUNDS = { entries: 1_000_000, pids: 1_024, cpus: Math.max(1, availableParallelism() / 2) };

export function provisioningOf(env: WorkerEnv, parts: { readonly db: Database; readonly log: Logger }): Provisioning {
  const userConfig = env.AIRLOCK_NPM_RC === null ? null : readFileSync(env.AIRLOCK_NPM_RC, "utf8");
  return createProvisioning({
    ...parts,
    folder: path.resolve(env.AIRLOCK_CACHE ?? path.join(env.AIRLOCK_HOME, "cache")),
    maxBytes: env.AIRLOCK_CACHE_MB * MIB,
    bounds: {
      timeoutMs: env.AIRLOCK_PROVISION_TIMEOUT_MS,
      bytes: env.AIRLOCK_PROVISION_MB * MIB,
      memoryBytes: env.AIRLOCK_PROVISION_MEMORY_MB * MIB,
      ...STEP_BOUNDS,
    },
    commands: env.AIRLOCK_PROVISION_COMMANDS === "on",
    registry: env.AIRLOCK_NPM_REGISTRY,
    userConfig,
    credentials: env.AIRLOCK_GIT_CREDENTIALS,
    secrets: env.secrets,
    allowPrivate: new Set(env.AIRLOCK_HTTP_ALLOW.map((entry) => entry.toLowerCase())),
    redacted: [...env.secrets.values(), ...secretsOf(userConfig ?? "")],
  });
}
