import { Counter, Gauge, Histogram, type Registry } from "@airlock/shared/runtime";

export interface GatewayMetrics {
  /** `operation` is the root field, `code` is "OK" or the first error's code: both are closed sets. */
  request(operation: string, code: string, seconds: number): void;
  submitted(via: "single" | "batch" | "retry" | "fork", tasks: number): void;
  /** A slow subscriber lost its queue and is caught up from Postgres. */
  fellBehind(): void;
}

export function createGatewayMetrics(registry: Registry, openStreams: () => number): GatewayMetrics {
  const requests = new Counter({
    name: "airlock_gateway_requests_total",
    help: "GraphQL requests by root field and outcome",
    labelNames: ["operation", "code"],
    registers: [registry],
  });
  const durations = new Histogram({
    name: "airlock_gateway_request_seconds",
    help: "Time from a request's head to its answer",
    labelNames: ["operation"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  const submissions = new Counter({
    name: "airlock_gateway_submitted_tasks_total",
    help: "Tasks accepted, by the way they came in",
    labelNames: ["via"],
    registers: [registry],
  });
  new Gauge({
    name: "airlock_gateway_streams",
    help: "Open subscriptions",
    registers: [registry],
    collect() {
      this.set(openStreams());
    },
  });
  const catchUps = new Counter({
    name: "airlock_gateway_slow_subscribers_total",
    help: "Times that a slow subscriber lost its queue and was caught up from Postgres",
    registers: [registry],
  });
  return {
    request(operation, code, seconds) {
      requests.inc({ operation, code });
      durations.observe({ operation }, seconds);
    },
    fellBehind: () => catchUps.inc(),
    submitted: (via, tasks) => submissions.inc({ via }, tasks),
  };
}
