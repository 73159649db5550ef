import { createTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Database, openDatabase } from "./database.ts";

let database: TestDatabase;
let [frozen, others]: Database[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  const about = { url: database.url, poolSize: 2, program: "test", onError: () => undefined };
  [frozen, others] = [openDatabase({ ...about, maxSilenceMs: 300 }), openDatabase(about)];
  await sql`create table frozen_rows (id integer primary key, value text)`.execute(others);
  await sql`insert into frozen_rows values (1, 'before')`.execute(others);
});
afterAll(async () => {
  await frozen?.destroy();
  await others?.destroy();
  await database.drop();
});

it("a program that freezes within a transaction holds up nobody, and what it says then is refused", async () => {
  const [silent, live] = [frozen as Database, others as Database];
  const write = (db: Database, value: string) => sql`update frozen_rows set value = ${value} where id = 1`.execute(db);
  const held = Promise.withResolvers<void>();
  const thawed = Promise.withResolvers<void>();
  const transaction = silent.transaction().execute(async (tx) => {
    await write(tx, "frozen");
    held.resolve();
    await thawed.promise;
    await write(tx, "thawed");
  });
  await held.promise;
  await write(live, "taken over");
  thawed.resolve();
  await expect(transaction).rejects.toThrow();
  expect((await sql`select value from frozen_rows`.execute(live)).rows).toEqual([{ value: "taken over" }]);
  // Its other connections go on.
  await write(silent, "after");
});
