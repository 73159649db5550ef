import { createLogger } from "@airlock/shared/runtime";
import { createTestDatabase, openTestDatabase, type TestDatabase } from "@airlock/shared/testing";
import type { KyselyPlugin } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runTask } from "../../testing/running-task.ts";
import { createEventHub } from "./event-hub.ts";

let database: TestDatabase;
let opened: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await createTestDatabase();
  opened = await openTestDatabase(database.url);
});
afterAll(async () => {
  await opened.db.destroy();
  await database.drop();
});

const log = createLogger({ program: "event-hub-test", level: "silent" });

/** Postgres has answered the query of that number; its answer arrives when it is let through. */
function holdAnswer(number: number) {
  const answered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let seen = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      seen += 1;
      if (seen === number) {
        answered.resolve();
        await gate.promise;
      }
      return result;
    },
  };
  return { plugin, answered: answered.promise, letThrough: () => gate.resolve() };
}

test("an event that is handed out while an older page is on its way does not end the stream", async () => {
  const task = await runTask(opened.db, null, opened.projectId);
  const from = await task.print("a");
  // The first question is after the task, the second after what follows `from`.
  const held = holdAnswer(2);
  const hub = createEventHub({ db: opened.db.withPlugin(held.plugin), log, onFellBehind: () => undefined });
  const early = await hub.follow(opened.projectId, task.id, from);
  const next = early?.next();
  await held.answered;
  const seq = await task.print("b");
  hub.hint([[task.id, seq]]);
  // It comes later, and shares the page that is on its way.
  const late = await hub.follow(opened.projectId, task.id, from);
  const nextOfLate = late?.next();
  const live = await hub.follow(opened.projectId, task.id, 0);
  while ((await live?.next())?.value?.seq !== seq);
  held.letThrough();
  expect(await next).toMatchObject({ done: false, value: { seq } });
  expect(await nextOfLate).toMatchObject({ done: false, value: { seq } });
  for (const cursor of [early, late, live]) await cursor?.return();
  hub.close();
});

test("a cursor that is behind ends where its task was deleted", async () => {
  const task = await runTask(opened.db, null, opened.projectId);
  await task.print("a");
  const hub = createEventHub({ db: opened.db, log, onFellBehind: () => undefined });
  const cursor = await hub.follow(opened.projectId, task.id, 0);
  await opened.db.transaction().execute(async (trx) => {
    await trx.deleteFrom("events").where("task_id", "=", task.id).execute();
    await trx.deleteFrom("tasks").where("id", "=", task.id).execute();
  });
  expect(await cursor?.next()).toEqual({ done: true, value: undefined });
  hub.close();
});
