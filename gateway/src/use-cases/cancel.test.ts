import { setTimeout as sleep } from "node:timers/promises";
import { newId } from "@airlock/shared/contracts";
import { insertBatch, insertTasks } from "@airlock/shared/db";
import { newTask } from "@airlock/shared/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

test("a batch whose tasks a group of segments locks in another order is cancelled all the same", async () => {
  const { projectId, client } = await gateway.tenant("cancelling");
  const batchId = newId();
  const tasks = [newTask(projectId, { batchId }), newTask(projectId, { batchId })];
  const [low, high] = tasks.map(({ id }) => id).sort() as [string, string];
  await insertBatch(gateway.db, {
    id: batchId,
    projectId,
    label: null,
    total: 2,
    idempotencyKey: null,
    fingerprint: null,
  });
  await insertTasks(gateway.db, tasks, 0);
  const CANCEL_BATCH = "mutation ($id: ID!) { cancelBatch(id: $id) { counts { cancelled } } }";
  const cancelling: Promise<unknown>[] = [];
  await gateway.db.transaction().execute(async (tx) => {
    const lock = (id: string) => tx.selectFrom("tasks").select("id").where("id", "=", id).forUpdate().execute();
    await lock(high);
    cancelling.push(client.data(CANCEL_BATCH, { id: batchId }));
    // It has locked the one and waits for the other by now.
    await sleep(200);
    await lock(low);
  });
  expect(await Promise.all(cancelling)).toEqual([{ cancelBatch: { counts: { cancelled: 2 } } }]);
});
