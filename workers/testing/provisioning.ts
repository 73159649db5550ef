import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createLogger } from "@airlock/shared/runtime";
import { createProvisioning, type Provisioning, type ProvisioningOptions } from "../src/provisioning/provisioning.ts";
import type { TestWorker } from "./worker.ts";

export const TEST_BOUNDS = {
  timeoutMs: 120_000,
  bytes: 256 * 1024 ** 2,
  entries: 100_000,
  memoryBytes: 1024 ** 3,
  pids: 256,
  cpus: 1,
};

export interface TestProvisioning extends Provisioning {
  readonly folder: string;
  /** With all that it has kept. */
  remove(): Promise<void>;
}

/** As a worker has it, with a cache of its own unless one is given. */
export function openProvisioning(
  { context }: Pick<TestWorker, "context">,
  options: Partial<ProvisioningOptions> = {},
): TestProvisioning {
  const folder = options.folder ?? mkdtempSync(path.join(tmpdir(), "airlock-cache-"));
  const provisioning = createProvisioning({
    db: context.db,
    log: createLogger({ program: "test", level: "silent" }),
    folder,
    maxBytes: 1024 ** 3,
    bounds: TEST_BOUNDS,
    commands: true,
    registry: null,
    userConfig: null,
    credentials: [],
    secrets: new Map(),
    allowPrivate: new Set(),
    redacted: [],
    ...options,
  });
  return {
    ...provisioning,
    folder,
    remove: async () => {
      await provisioning.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
