export * from "./events.ts";
export * from "./ids.ts";
export * from "./jobs.ts";
export * from "./topics.ts";
