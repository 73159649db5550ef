import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createBus } from "@airlock/shared/bus";
import { newId } from "@airlock/shared/contracts";
import {
  type ClaimedTask,
  findTask,
  insertTasks,
  type NewTask,
  registerWorker,
  type TaskRow,
} from "@airlock/shared/db";
import { DEFAULT_GUEST_LIMITS } from "@airlock/shared/domain";
import { createDiskStore, createFiles } from "@airlock/shared/files";
import { createTaskQueues, prepareBackend } from "@airlock/shared/queue";
import { createLogger, createMetricsRegistry } from "@airlock/shared/runtime";
import { createTestDatabase, newTask, openTestDatabase } from "@airlock/shared/testing";
import { sql } from "kysely";
import type { Context } from "../src/context.ts";
import { createPolicies } from "../src/desk/policies.ts";
import { createLeaseBook } from "../src/leasing/lease-book.ts";
import { createRestedLeases } from "../src/leasing/rested-leases.ts";
import { createTaskEnvironments } from "../src/leasing/task-environments.ts";
import { createWorkerMetrics } from "../src/metrics.ts";
import { createRunningSegments } from "../src/runner/running-segments.ts";
import { createSegmentStore } from "../src/runner/segment-store.ts";
import { createRegistry } from "../src/tools/registry.ts";
import { createFeeder } from "../src/upkeep/feeder.ts";

/** A worker's context on a database of its own, and what a test does to it from outside. */
export interface TestWorker {
  readonly context: Context;
  readonly projectId: string;
  /** Inserts a task as the gateway does; `window` of its project are marked as enqueued. */
  submit(fields?: Partial<NewTask>, window?: number): Promise<string>;
  task(id: string): Promise<TaskRow>;
  /** Claims with the task's current job; by another worker where one is named, which restores guests of this image. */
  claim(taskId: string, workerId?: string, image?: Buffer | null): Promise<ClaimedTask>;
  newWorker(): Promise<string>;
  /** As if the worker had not been heard of for an hour. */
  silence(workerId: string): Promise<void>;
  close(): Promise<void>;
}

/** Queue and bus are on the database, or on this Redis. */
export async function openTestWorker(redisUrl: string | null = null): Promise<TestWorker> {
  const database = await createTestDatabase();
  const { db, projectId } = await openTestDatabase(database.url);
  const backend = { kind: redisUrl === null ? "postgres" : "redis", url: redisUrl ?? database.url } as const;
  await prepareBackend(backend);
  const ignore = () => undefined;
  const bus = createBus(backend, ignore);
  const queues = createTaskQueues(backend, ignore);
  const running = createRunningSegments();
  const storeOf = (workerId: string) => createSegmentStore({ db, bus, workerId, onBusError: ignore });
  const newWorker = async (): Promise<string> => {
    const id = newId();
    await registerWorker(db, { id, host: "test", version: "0", capacity: 1, providers: ["isolate"], tools: [] });
    return id;
  };
  const task = async (id: string): Promise<TaskRow> => {
    const { project_id } = await db
      .selectFrom("tasks")
      .select("project_id")
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    return (await findTask(db, project_id, id)) as TaskRow;
  };
  const workerId = await newWorker();
  const folder = path.join(tmpdir(), `airlock-worker-${workerId}`);
  const log = createLogger({ program: "test", level: "silent" });
  const leases = createLeaseBook({ db, workerId, host: "test" });
  const context: Context = {
    workerId,
    db,
    files: createFiles(db, createDiskStore(folder)),
    bus,
    queues,
    running,
    log,
    tools: createRegistry([]),
    policies: createPolicies(db),
    secrets: { get: ignore },
    parkByReplay: false,
    maxSnapshotBytes: 0,
    // A test that wants a heart starts its own.
    heart: { isFresh: async () => {}, drain: ignore, stop: async () => {} },
    throughput: { note: ignore },
    feeder: createFeeder({ db, queues, log }, ["isolate"]),
    isOffered: async () => false,
    announceApproval: ignore,
    limits: DEFAULT_GUEST_LIMITS,
    leases,
    rested: createRestedLeases({ leases, log }),
    environments: createTaskEnvironments({ db, log }),
    functions: { find: async () => undefined, forget: ignore, forgetAll: ignore },
    // A test that provides for its tasks brings its own.
    provisioning: { provide: () => ({ kind: "provided", layers: [], release: ignore }), close: async () => {} },
    store: storeOf(workerId),
    metrics: createWorkerMetrics(createMetricsRegistry("worker"), () => running.count, 1),
  };
  return {
    context,
    projectId,
    newWorker,
    task,
    submit: async (fields = {}, window = 10_000) => {
      const one = newTask(fields.projectId ?? projectId, fields);
      await insertTasks(db, [one], window);
      return one.id;
    },
    claim: async (taskId, by = workerId, image = null) => {
      const store = by === workerId ? context.store : storeOf(by);
      const claimed = await store.claim({ taskId, job: (await task(taskId)).job, isolation: "{}", image });
      if (claimed === null) throw new Error("the job is stale");
      return claimed;
    },
    silence: async (id) => {
      await sql`update workers set last_seen_at = now() - interval '1 hour' where id = ${id}`.execute(db);
    },
    close: async () => {
      await context.rested.close();
      await queues.close();
      await bus.close();
      await db.destroy();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
