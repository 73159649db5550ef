import { Counter, Gauge, type Registry } from "@airlock/shared/runtime";

export interface WorkerMetrics {
  readonly ended: Counter<"status" | "code">;
  readonly recovered: Counter;
  readonly parked: Counter;
  readonly leases: Counter<"provider" | "state">;
  readonly reaped: Counter<"provider">;
  readonly cleanupFailures: Counter<"provider">;
}

export function createWorkerMetrics(registry: Registry, running: () => number, capacity: number): WorkerMetrics {
  const registers = [registry];
  new Gauge({
    name: "airlock_worker_running_tasks",
    help: "Tasks that this worker runs now",
    registers,
    collect() {
      this.set(running());
    },
  });
  new Gauge({ name: "airlock_worker_capacity", help: "Tasks that this worker may run at a time", registers }).set(
    capacity,
  );
  return {
    ended: new Counter({
      name: "airlock_tasks_ended_total",
      help: "Tasks that ended on this worker",
      labelNames: ["status", "code"],
      registers,
    }),
    parked: new Counter({ name: "airlock_tasks_parked_total", help: "Segments that ended by parking", registers }),
    leases: new Counter({
      name: "airlock_leases_ended_total",
      help: "Sandboxes that this worker had, by what became of them",
      labelNames: ["provider", "state"],
      registers,
    }),
    reaped: new Counter({
      name: "airlock_leases_reaped_total",
      help: "Sandboxes without a holder that this worker's reaper destroyed",
      labelNames: ["provider"],
      registers,
    }),
    cleanupFailures: new Counter({
      name: "airlock_lease_cleanup_failures_total",
      help: "Sandboxes that could not be destroyed yet",
      labelNames: ["provider"],
      registers,
    }),
    recovered: new Counter({
      name: "airlock_tasks_recovered_total",
      help: "Tasks that this worker's sweeper took from lost workers",
      registers,
    }),
  };
}
