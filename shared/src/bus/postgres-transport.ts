import pg from "pg";
import type { BusTransport, TransportEvents } from "./bus.ts";

/** Keeps our channels apart from BullMQ's on the same server. */
const PREFIX = "airlock:";
const RETRY_MS = 500;

/** LISTEN/NOTIFY: one pooled connection to send, one of its own to listen, rebuilt with its subscriptions when it breaks. */
export function createPostgresTransport(url: string, events: TransportEvents): BusTransport {
  const sender = new pg.Pool({ connectionString: url, max: 1, application_name: "airlock-bus" });
  sender.on("error", events.onError);
  const listener = createListener(url, events);
  return {
    async publish(channel, messages) {
      await sender.query("select pg_notify($1, m) from unnest($2::text[]) m", [PREFIX + channel, messages]);
    },
    listen: (channel) => listener.listen(channel),
    unlisten: (channel) => listener.unlisten(channel),
    async ping() {
      await sender.query("select 1");
    },
    async close() {
      await Promise.all([listener.close(), sender.end()]);
    },
  };
}

function createListener(url: string, { onMessage, onReconnect, onError }: TransportEvents) {
  const channels = new Set<string>();
  let closed = false;
  let client = connect();

  async function connect(): Promise<pg.Client> {
    const fresh = new pg.Client({ connectionString: url, application_name: "airlock-bus", keepAlive: true });
    fresh.on("error", (error) => {
      onError(error);
      rebuild(fresh);
    });
    fresh.on("notification", ({ channel, payload }) => onMessage(channel.slice(PREFIX.length), payload ?? ""));
    await fresh.connect();
    for (const channel of channels) await fresh.query(`listen ${quote(channel)}`);
    return fresh;
  }

  async function reconnect(): Promise<pg.Client> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      try {
        const fresh = await connect();
        onReconnect();
        return fresh;
      } catch (error) {
        if (closed) throw error;
        onError(error as Error);
      }
    }
  }

  function rebuild(broken: pg.Client): void {
    if (closed) return;
    void broken.end().catch(() => {});
    client = reconnect();
    client.catch(() => {});
  }

  return {
    async listen(channel: string): Promise<void> {
      channels.add(channel);
      await (await client).query(`listen ${quote(channel)}`);
    },
    async unlisten(channel: string): Promise<void> {
      channels.delete(channel);
      await (await client).query(`unlisten ${quote(channel)}`);
    },
    async close(): Promise<void> {
      closed = true;
      await client.then((current) => current.end()).catch(() => {});
    },
  };
}

function quote(channel: string): string {
  return pg.escapeIdentifier(PREFIX + channel);
}
