import type { Operation } from "../operation.ts";
import { isPassing, readAnswer } from "./answer.ts";
import { delayBefore, type Patience, pause } from "./backoff.ts";
import { type Endpoint, post, unreachable } from "./endpoint.ts";
import { watch } from "./watchdog.ts";

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Sends a document once: for what must not happen twice. */
export async function send<Data, Variables>(
  endpoint: Endpoint,
  patience: Patience,
  operation: Operation<Data, Variables>,
  variables: Variables,
  { signal }: RequestOptions = {},
): Promise<Data> {
  const body = JSON.stringify({ query: operation.text, variables });
  const watchdog = watch(patience.silenceMs, signal);
  try {
    const response = await post(endpoint, { accept: "application/json", body, signal: watchdog.signal });
    return await readAnswer<Data>(response);
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof TypeError || watchdog.signal.aborted ? unreachable(endpoint, error) : error;
  } finally {
    watchdog.stop();
  }
}

/** Sends it again while the failure may pass: for queries, and for mutations that are the same when they come twice. */
export async function sendPatiently<Data, Variables>(
  endpoint: Endpoint,
  patience: Patience,
  operation: Operation<Data, Variables>,
  variables: Variables,
  options: RequestOptions = {},
): Promise<Data> {
  for (let repeat = 0; ; repeat += 1) {
    try {
      return await send(endpoint, patience, operation, variables, options);
    } catch (error) {
      if (!isPassing(error) || repeat + 1 >= patience.attempts) throw error;
      await pause(delayBefore(repeat, patience, error), options.signal);
    }
  }
}
