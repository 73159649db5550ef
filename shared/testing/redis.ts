import { Redis } from "ioredis";
import { services } from "./services.ts";

/**
 * The shared test Redis with an empty logical database of the caller's own. Pub/sub knows no databases: channels are
 * shared by all files, so name them by fresh ids.
 */
export async function redisUrl(): Promise<string> {
  const server = services().redisUrl;
  if (server === null) throw new Error("no Redis here; wrap the test in describeWithRedis");
  const client = new Redis(server);
  try {
    // Database 0 holds only the counter. 999 others are enough for the files of one run.
    const database = (((await client.incr("databases-given-out")) - 1) % 999) + 1;
    await client.select(database);
    await client.flushdb();
    return `${server}/${database}`;
  } finally {
    client.disconnect();
  }
}
