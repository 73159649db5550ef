import { ApiError } from "../errors.ts";
import {
  type Batch,
  CancelBatch,
  GetBatch,
  ListBatchTasks,
  SubmitBatch,
  type SubmitBatchInput,
  type TaskSummary,
} from "../generated.ts";
import type { RequestOptions } from "../http/request.ts";
import { newIdempotencyKey } from "../idempotency-key.ts";
import { PAGE, paged } from "../paged.ts";
import type { Transport } from "../transport.ts";
import { followBatch } from "./progress.ts";

export interface BatchHandle {
  readonly id: string;
  get(): Promise<Batch>;
  progress(options?: RequestOptions): AsyncIterable<Batch>;
  /** Waits until all its tasks have ended. */
  ended(options?: RequestOptions): Promise<Batch>;
  /** In the order of submission. */
  tasks(): AsyncIterable<TaskSummary>;
  cancel(): Promise<void>;
}

export interface Batches {
  /** All or nothing. Gets an idempotency key where it has none. */
  submit(input: SubmitBatchInput): Promise<BatchHandle>;
  handle(id: string): BatchHandle;
  /** Null: there is no such batch. */
  get(id: string): Promise<Batch | null>;
}

export function createBatches(transport: Transport): Batches {
  const { patiently } = transport;
  return {
    async submit(input) {
      const keyed = { ...input, idempotencyKey: input.idempotencyKey ?? newIdempotencyKey() };
      const { submitBatch } = await patiently(SubmitBatch, { input: keyed });
      return createBatchHandle(transport, submitBatch.id);
    },
    handle: (id) => createBatchHandle(transport, id),
    get: async (id) => (await patiently(GetBatch, { id })).batch,
  };
}

function createBatchHandle(transport: Transport, id: string): BatchHandle {
  const { patiently } = transport;

  async function get(): Promise<Batch> {
    return found((await patiently(GetBatch, { id })).batch);
  }

  return {
    id,
    get,
    progress: ({ signal } = {}) => followBatch(transport, id, signal),
    async ended({ signal } = {}) {
      for await (const _ of followBatch(transport, id, signal));
      return get();
    },
    tasks: () =>
      paged(async (after) => found((await patiently(ListBatchTasks, { id, first: PAGE, after })).batch).tasks),
    cancel: async () => void (await patiently(CancelBatch, { id })),
  };
}

function found<T>(batch: T | null): T {
  if (batch === null) throw new ApiError("NOT_FOUND", "there is no such batch", false);
  return batch;
}
