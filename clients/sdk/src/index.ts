export { type Client, type ClientOptions, createClient } from "./client.ts";
export { AirlockError, ApiError, type ApiErrorCode, ConnectionError, TaskFailedError } from "./errors.ts";
export type * from "./generated.ts";
export type { Patience } from "./http/backoff.ts";
export type { Approvals } from "./approvals/index.ts";
export type { BatchHandle, Batches } from "./batches/index.ts";
export { type EndedStatus, hasEnded, type TaskHandle, type Tasks } from "./tasks/index.ts";
export type { Tools } from "./tools.ts";
export type { Workers } from "./workers.ts";
