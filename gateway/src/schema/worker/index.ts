import { listWorkers, type QueueStats, queueStats, WORKER_STATES, type WorkerRow } from "@airlock/shared/db";
import type { Fleet } from "../../live/fleet-watch.ts";
import { builder } from "../builder.ts";

const WorkerStateType = builder.enumType("WorkerState", { values: WORKER_STATES });

const WorkerType = builder.objectRef<WorkerRow>("Worker").implement({
  fields: (t) => ({
    id: t.exposeID("id"),
    host: t.exposeString("host"),
    version: t.exposeString("version"),
    state: t.expose("state", { type: WorkerStateType }),
    capacity: t.exposeInt("capacity"),
    running: t.exposeInt("running"),
    providers: t.exposeStringList("providers"),
    lastSeenAt: t.expose("last_seen_at", { type: "DateTime" }),
  }),
});

const QueueStatsType = builder.objectRef<QueueStats>("QueueStats").implement({
  description: "Of the caller's project. runnable: waiting for a worker now.",
  fields: (t) => ({
    runnable: t.exposeInt("runnable"),
    running: t.exposeInt("running"),
    parked: t.exposeInt("parked"),
    oldestWaitingMs: t.exposeInt("oldestWaitingMs", { nullable: true }),
    finishedLastMinute: t.exposeInt("finishedLastMinute", {
      description: "Tasks that ended on a worker, whatever their outcome; to the ten seconds.",
    }),
    finishedLastFiveMinutes: t.exposeInt("finishedLastFiveMinutes"),
  }),
});

const FleetType = builder.objectRef<Fleet>("Fleet").implement({
  description: "The workers, and what waits for them in the caller's project.",
  fields: (t) => ({
    workers: t.field({ type: [WorkerType], resolve: (fleet) => fleet.workers }),
    queueStats: t.field({ type: QueueStatsType, resolve: (fleet) => fleet.queueStats }),
  }),
});

builder.queryFields((t) => ({
  workers: t.field({ type: [WorkerType], scope: "read", resolve: (_, _args, { app }) => listWorkers(app.db) }),
  queueStats: t.field({
    type: QueueStatsType,
    scope: "read",
    resolve: (_, _args, { app, caller }) => queueStats(app.db, caller.projectId),
  }),
}));

builder.subscriptionFields((t) => ({
  fleet: t.field({
    type: FleetType,
    scope: "read",
    description: "First the current state, then each change (at most one a second).",
    subscribe: (_, _args, { app, caller }) => app.live.fleet.follow(caller.projectId),
    resolve: (fleet) => fleet,
  }),
}));
