import { randomUUID } from "node:crypto";
import { DEFAULT_SANDBOX_LIMITS } from "@airlock/shared/domain";
import type { LeaseRequest } from "../src/sandboxes/port.ts";

/** What a test asks a provider for, where it does not say otherwise. */
export function leaseRequest(options: Partial<LeaseRequest> = {}): LeaseRequest {
  return {
    leaseId: randomUUID(),
    taskId: "task",
    projectId: "project",
    config: {},
    limits: DEFAULT_SANDBOX_LIMITS,
    files: [],
    layers: [],
    ...options,
  };
}
