import { ConnectionError } from "../errors.ts";
import { type Batch, FollowBatch } from "../generated.ts";
import { reconnecting } from "../stream/reconnect.ts";
import { ALIVE } from "../stream/subscribe.ts";
import type { Transport } from "../transport.ts";

/** The current state, then each change; ends when all tasks have ended. */
export async function* followBatch(
  transport: Transport,
  id: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Batch, void> {
  async function* connect(): AsyncGenerator<Batch | typeof ALIVE, void> {
    for await (const message of transport.subscribe(FollowBatch, { id }, signal)) {
      yield message === ALIVE ? ALIVE : message.batchProgress;
      if (message !== ALIVE && message.batchProgress.done) return;
    }
    throw new ConnectionError("UNREACHABLE", "the gateway called the stream complete before the batch was done");
  }

  const live = reconnecting(connect, transport.patience, signal);
  let before = "";
  for await (const batch of live) {
    // A new connection begins with the current state, which may be the one that is known.
    const state = JSON.stringify(batch.counts);
    if (state !== before || batch.done) yield batch;
    before = state;
  }
}
