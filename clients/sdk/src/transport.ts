import type { Patience } from "./http/backoff.ts";
import { download, type Download } from "./http/download.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { type RequestOptions, send, sendPatiently } from "./http/request.ts";
import type { Operation } from "./operation.ts";
import { type ALIVE, subscribe } from "./stream/subscribe.ts";

/** The ways to speak to a gateway. */
export interface Transport {
  readonly patience: Patience;
  /** Repeats what failed: for what may arrive twice. */
  readonly patiently: <Data, Variables>(
    operation: Operation<Data, Variables>,
    variables: Variables,
    options?: RequestOptions,
  ) => Promise<Data>;
  /** Never repeats. */
  readonly once: <Data, Variables>(operation: Operation<Data, Variables>, variables: Variables) => Promise<Data>;
  /** An artifact's bytes. */
  readonly download: (id: string, options?: RequestOptions) => Promise<Download>;
  /** Over one connection; see `reconnecting` for more. */
  subscribe<Data, Variables>(
    operation: Operation<Data, Variables>,
    variables: Variables,
    signal: AbortSignal | undefined,
  ): AsyncIterable<Data | typeof ALIVE>;
}

export function createTransport(endpoint: Endpoint, patience: Patience): Transport {
  return {
    patience,
    patiently: (operation, variables, options) => sendPatiently(endpoint, patience, operation, variables, options),
    once: (operation, variables) => send(endpoint, patience, operation, variables),
    download: (id, options) => download(endpoint, patience, id, options),
    subscribe: (operation, variables, signal) => subscribe(endpoint, patience, operation, variables, signal),
  };
}
