import type { Bus } from "@airlock/shared/bus";
import type { Database, NewApproval } from "@airlock/shared/db";
import type { GuestLimits } from "@airlock/shared/domain";
import type { Files } from "@airlock/shared/files";
import type { TaskQueues } from "@airlock/shared/queue";
import type { Logger } from "@airlock/shared/runtime";
import type { Policies } from "./desk/policies.ts";
import type { FunctionTools } from "./functions/index.ts";
import type { LeaseBook } from "./leasing/lease-book.ts";
import type { RestedLeases } from "./leasing/rested-leases.ts";
import type { TaskEnvironments } from "./leasing/task-environments.ts";
import type { Provisioning } from "./provisioning/index.ts";
import type { WorkerMetrics } from "./metrics.ts";
import type { RunningSegments } from "./runner/running-segments.ts";
import type { SegmentStore } from "./runner/segment-store.ts";
import type { ToolRegistry } from "./tools/registry.ts";
import type { Feeder } from "./upkeep/feeder.ts";
import type { Heartbeat } from "./upkeep/heartbeat.ts";
import type { Throughput } from "./upkeep/throughput.ts";

/** Everything that a worker's parts share. Built by main.ts. */
export interface Context {
  readonly workerId: string;
  readonly db: Database;
  readonly files: Files;
  readonly queues: TaskQueues;
  readonly bus: Bus;
  readonly log: Logger;
  readonly limits: GuestLimits;
  readonly store: SegmentStore;
  readonly running: RunningSegments;
  readonly metrics: WorkerMetrics;
  readonly tools: ToolRegistry;
  readonly policies: Policies;
  /** What a project calls as tools beside the worker's own. */
  readonly functions: FunctionTools;
  /** Credentials for tools, by name. */
  readonly secrets: { get(name: string): string | undefined };
  /** Every parked guest is run again rather than restored. */
  readonly parkByReplay: boolean;
  /** A larger snapshot is not kept: that guest is run again. */
  readonly maxSnapshotBytes: number;
  readonly heart: Heartbeat;
  readonly feeder: Feeder;
  /** Which sandboxes this worker has. */
  readonly leases: LeaseBook;
  /** Those of them that wait for their session's next task. */
  readonly rested: RestedLeases;
  /** What a task's environment asks of its sandbox. */
  readonly environments: TaskEnvironments;
  readonly throughput: Pick<Throughput, "note">;
  /** What a task needs beside its program: packages, a repository, a prepared work area. */
  readonly provisioning: Provisioning;
  /** Whether another worker that can run the task has this version of the tool. */
  isOffered(tool: { readonly path: string; readonly version: string | null }, taskId: string): Promise<boolean>;
  /** Tells the world of a new approval, and has it expire in time. */
  announceApproval(projectId: string, approval: NewApproval): void;
}
