export { type Backend, chooseBackend, prepareBackend } from "./backend.ts";
export * from "./approval-queue.ts";
export * from "./task-queues.ts";
