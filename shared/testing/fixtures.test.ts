import { Redis } from "ioredis";
import pg from "pg";
import { expect, test } from "vitest";
import { createEmptyDatabase, createTestDatabase, describeWithRedis, redisUrl } from "./index.ts";

test("a test database holds the migrated tables, and two of them share nothing", async () => {
  const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  const clients = [one, two].map(({ url }) => new pg.Client({ connectionString: url }));
  const [first, second] = clients as [pg.Client, pg.Client];
  await Promise.all(clients.map((client) => client.connect()));
  await first.query("create table only_here (n int)");
  await expect(second.query("select * from only_here")).rejects.toThrow("does not exist");
  await expect(second.query("select count(*) from tasks")).resolves.toMatchObject({ rows: [{ count: "0" }] });
  await Promise.all(clients.map((client) => client.end()));
  await Promise.all([one.drop(), two.drop()]);
});

test("an empty database has no tables, and is dropped under open connections", async () => {
  const database = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: database.url });
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query("select 1 from pg_tables where schemaname = 'public'");
  expect(rows).toEqual([]);
  await database.drop();
  await client.end();
});

describeWithRedis("the shared Redis", () => {
  test("gives each caller an empty database of its own", async () => {
    const one = new Redis(await redisUrl());
    const two = new Redis(await redisUrl());
    await one.set("key", "value");
    expect(await two.get("key")).toBeNull();
    expect(await two.config("GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "noeviction"]);
    one.disconnect();
    two.disconnect();
  });
});
