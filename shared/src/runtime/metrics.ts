import { Registry, collectDefaultMetrics } from "prom-client";

export { Counter, Gauge, Histogram } from "prom-client";
export { Registry };

/** A registry of its own per program: nothing global, so tests can run several programs in one process. */
export function createMetricsRegistry(program: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ program });
  collectDefaultMetrics({ register: registry, prefix: "airlock_" });
  return registry;
}
