import { MAX_ITEMS_A_MESSAGE, type Topic, type TopicPayload } from "../contracts/index.ts";
import type { Backend } from "../queue/index.ts";
import { createPostgresTransport } from "./postgres-transport.ts";
import { createRedisTransport } from "./redis-transport.ts";

/** Hints between programs, each of which can be lost: whoever acts on them also asks Postgres now and then. */
export interface Bus {
  publish<T extends Topic>(topic: T, payload: TopicPayload<T>): Promise<void>;
  /** Resolves when the subscription holds; from then on every message is delivered while the connection lasts. */
  subscribe<T extends Topic>(topic: T, handle: (payload: TopicPayload<T>) => void): Promise<() => Promise<void>>;
  /** The connection was lost and is back: messages in between are gone. */
  onReconnect(listener: () => void): void;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What a backend must bring: strings below 8 kB on named channels. */
export interface BusTransport {
  publish(channel: string, messages: readonly string[]): Promise<void>;
  listen(channel: string): Promise<void>;
  unlisten(channel: string): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface TransportEvents {
  readonly onMessage: (channel: string, message: string) => void;
  readonly onReconnect: () => void;
  readonly onError: (error: Error) => void;
}

export function createBus(backend: Backend, onError: (error: Error) => void): Bus {
  const handlers = new Map<string, Set<(message: string) => void>>();
  const reconnectListeners: (() => void)[] = [];
  const events: TransportEvents = {
    onMessage: (channel, message) => {
      for (const handle of handlers.get(channel) ?? []) handle(message);
    },
    onReconnect: () => {
      for (const listener of reconnectListeners) listener();
    },
    onError,
  };
  const transport =
    backend.kind === "redis" ? createRedisTransport(backend.url, events) : createPostgresTransport(backend.url, events);

  return {
    async publish(topic, payload) {
      const messages: string[] = [];
      for (let from = 0; from < payload.length; from += MAX_ITEMS_A_MESSAGE) {
        messages.push(JSON.stringify(payload.slice(from, from + MAX_ITEMS_A_MESSAGE)));
      }
      if (messages.length > 0) await transport.publish(topic.name, messages);
    },
    async subscribe(topic, handle) {
      const onMessage = (message: string): void => {
        const parsed = topic.payload.safeParse(JSON.parse(message));
        if (parsed.success) handle(parsed.data as TopicPayload<typeof topic>);
        else onError(new Error(`junk on the bus topic ${topic.name}`));
      };
      const group = handlers.get(topic.name) ?? new Set();
      handlers.set(topic.name, group.add(onMessage));
      await transport.listen(topic.name);
      return async () => {
        group.delete(onMessage);
        if (group.size === 0) await transport.unlisten(topic.name);
      };
    },
    onReconnect: (listener) => {
      reconnectListeners.push(listener);
    },
    ping: () => transport.ping(),
    close: () => transport.close(),
  };
}
