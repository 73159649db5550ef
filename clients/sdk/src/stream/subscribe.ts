import { ConnectionError } from "../errors.ts";
import { readAnswer, readPayload } from "../http/answer.ts";
import type { Patience } from "../http/backoff.ts";
import { type Endpoint, post, unreachable } from "../http/endpoint.ts";
import { watch } from "../http/watchdog.ts";
import type { Operation } from "../operation.ts";
import { readFrames } from "./frames.ts";

/** The connection is alive, without anything new on it. */
export const ALIVE = Symbol("alive");

/**
 * A subscription over one connection (graphql-sse, distinct connections). Returns when the gateway says that it is
 * complete; a connection that is lost, silent or garbled throws UNREACHABLE.
 */
export async function* subscribe<Data, Variables>(
  endpoint: Endpoint,
  patience: Patience,
  operation: Operation<Data, Variables>,
  variables: Variables,
  signal: AbortSignal | undefined,
): AsyncGenerator<Data | typeof ALIVE, void> {
  const body = JSON.stringify({ query: operation.text, variables });
  const watchdog = watch(patience.silenceMs, signal);
  try {
    const response = await post(endpoint, { accept: "text/event-stream", body, signal: watchdog.signal });
    if (!isStream(response)) {
      await readAnswer(response);
      throw new ConnectionError("BAD_ANSWER", `${endpoint.url} answered a subscription at once instead of streaming`);
    }
    for await (const frame of readFrames(response.body, () => watchdog.heard())) {
      if (frame?.event === "complete") return;
      yield frame?.event === "next" ? readPayload<Data>(frame.data) : ALIVE;
    }
    throw new ConnectionError("UNREACHABLE", "the gateway's stream ended before it was complete");
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof TypeError || watchdog.signal.aborted ? unreachable(endpoint, error) : error;
  } finally {
    watchdog.stop();
  }
}

function isStream(response: Response): response is Response & { readonly body: ReadableStream<Uint8Array> } {
  const type = response.headers.get("content-type") ?? "";
  return response.ok && type.startsWith("text/event-stream") && response.body !== null;
}
