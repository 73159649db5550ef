import type { Bus } from "@airlock/shared/bus";
import { topics } from "@airlock/shared/contracts";
import { type Database, findRevokedKeys } from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import { type ApprovalWatch, createApprovalWatch } from "./approval-watch.ts";
import { type BatchWatch, createBatchWatch } from "./batch-watch.ts";
import { createEventHub, type EventHub } from "./event-hub.ts";
import { createFleetWatch, type FleetWatch } from "./fleet-watch.ts";
import type { Streams } from "./streams.ts";
import { createTaskWatch, type TaskWatch } from "./task-watch.ts";

/** What subscriptions follow, and which of them are open. */
export interface Live {
  readonly streams: Streams;
  readonly events: EventHub;
  readonly tasks: TaskWatch;
  readonly approvals: ApprovalWatch;
  readonly batches: BatchWatch;
  readonly fleet: FleetWatch;
  stop(): void;
}

/** How long a lost message can go unnoticed; a revoked key must not have streams for longer than 5 s. */
const CHECK_MS = 3_000;
/** Less often, because a filter may look at many tasks. */
const CHECK_TASKS_MS = 30_000;

export async function startLive(parts: {
  db: Database;
  bus: Bus;
  log: Logger;
  streams: Streams;
  onFellBehind: () => void;
}): Promise<Live> {
  const { db, bus, log, streams, onFellBehind } = parts;
  const events = createEventHub({ db, log, onFellBehind });
  const tasks = createTaskWatch({ db, log });
  const approvals = createApprovalWatch({ db, log });
  const batches = createBatchWatch({ db, log });
  const fleet = createFleetWatch({ db, log });
  await bus.subscribe(topics.events, (pairs) => {
    events.hint(pairs);
    const taskIds = pairs.map(([taskId]) => taskId);
    for (const watch of [tasks, approvals, batches]) watch.hint(taskIds);
  });

  async function checkKeys(): Promise<void> {
    const keys = streams.keys();
    if (keys.length > 0) streams.revoke(await findRevokedKeys(db, keys));
  }

  async function check(): Promise<void> {
    for (const watch of [approvals, batches]) watch.check();
    for (const result of await Promise.allSettled([events.check(), checkKeys()])) {
      if (result.status === "rejected") log.warn({ err: result.reason }, "could not compare streams with Postgres");
    }
  }

  let checking = false;
  const checkOnce = (): void => {
    if (checking) return;
    checking = true;
    void check().finally(() => (checking = false));
  };
  const timers = [setInterval(checkOnce, CHECK_MS), setInterval(() => tasks.check(), CHECK_TASKS_MS)];
  bus.onReconnect(() => {
    checkOnce();
    tasks.check();
  });

  return {
    streams,
    events,
    tasks,
    approvals,
    batches,
    fleet,
    stop() {
      for (const timer of timers) clearInterval(timer);
      fleet.stop();
      events.close();
    },
  };
}
