import { writeFileSync } from "node:fs";

/** Loaded into gateway and worker by the bench: on SIGUSR2 tells the heap in use after a collection. */
process.on("SIGUSR2", () => {
  (globalThis as { gc?: () => void }).gc?.();
  writeFileSync(`${process.env["AIRLOCK_BENCH_HEAP"]}/${process.pid}`, String(process.memoryUsage().heapUsed));
});
