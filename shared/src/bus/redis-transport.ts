import { Redis } from "ioredis";
import type { BusTransport, TransportEvents } from "./bus.ts";

const PREFIX = "{airlock}:bus:";

export function createRedisTransport(url: string, { onMessage, onReconnect, onError }: TransportEvents): BusTransport {
  const sender = new Redis(url, { maxRetriesPerRequest: 1 });
  const listener = new Redis(url, { maxRetriesPerRequest: null, autoResubscribe: true });
  let connectedBefore = false;
  sender.on("error", onError);
  listener.on("error", onError);
  listener.on("ready", () => {
    if (connectedBefore) onReconnect();
    connectedBefore = true;
  });
  listener.on("message", (channel: string, message: string) => onMessage(channel.slice(PREFIX.length), message));

  return {
    async publish(channel, messages) {
      const pipeline = sender.pipeline();
      for (const message of messages) pipeline.publish(PREFIX + channel, message);
      const results = (await pipeline.exec()) ?? [];
      for (const [error] of results) if (error) throw error;
    },
    async listen(channel) {
      await listener.subscribe(PREFIX + channel);
    },
    async unlisten(channel) {
      await listener.unsubscribe(PREFIX + channel);
    },
    async ping() {
      await sender.ping();
    },
    async close() {
      sender.disconnect();
      listener.disconnect();
    },
  };
}
