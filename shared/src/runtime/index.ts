export * from "./batcher.ts";
export * from "./env.ts";
export * from "./free-port.ts";
export * from "./health.ts";
export * from "./lifecycle.ts";
export * from "./logger.ts";
export * from "./metrics.ts";
