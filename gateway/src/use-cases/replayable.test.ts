import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { CANCEL, SUBMIT, SUBMIT_BATCH, type Submitted } from "../../testing/operations.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const once = { code: "return 1", language: "JAVASCRIPT", environment: "process", replayable: false };
const submit = async (fields: object = {}): Promise<string> =>
  (await gateway.admin.data<Submitted>(SUBMIT, { input: { ...once, ...fields } })).submitTask.id;
const replayableOf = async (id: string): Promise<boolean> => {
  const query = "query ($id: ID!) { task(id: $id) { replayable } }";
  return (await gateway.admin.data<{ task: { replayable: boolean } }>(query, { id })).task.replayable;
};

it("a task is replayable unless it says otherwise, and so is its retry", async () => {
  for (const given of [undefined, null, true])
    expect(await replayableOf(await submit({ replayable: given }))).toBe(true);
  const id = await submit();
  expect(await replayableOf(id)).toBe(false);
  await gateway.admin.data(CANCEL, { id });
  const retry = "mutation ($id: ID!) { retryTask(id: $id) { id replayable } }";
  const { retryTask } = await gateway.admin.data<{ retryTask: { id: string; replayable: boolean } }>(retry, { id });
  expect(retryTask.replayable).toBe(false);
  expect(await replayableOf(retryTask.id)).toBe(false);
});

it("an idempotency key does not stand for both a task that is replayable and one that is not", async () => {
  const idempotencyKey = "once";
  expect(await submit({ idempotencyKey })).toBe(await submit({ idempotencyKey }));
  const { errors } = await gateway.admin.send(SUBMIT, { input: { ...once, idempotencyKey, replayable: true } });
  expect(errors?.[0]?.extensions.code).toBe("CONFLICT");
});

it("the isolate, which runs nothing again, refuses the word and says what to do", async () => {
  const isolated = { ...once, environment: "isolate" };
  const { errors } = await gateway.admin.send(SUBMIT, { input: isolated });
  expect(errors?.[0]).toMatchObject({
    message: expect.stringMatching(/^replayable: .*leave it out/) as string,
    extensions: { code: "BAD_INPUT" },
  });
  const batch = await gateway.admin.send(SUBMIT_BATCH, { input: { tasks: [once, isolated] } });
  expect(batch.errors?.[0]?.message).toContain("tasks[1].replayable");
});
