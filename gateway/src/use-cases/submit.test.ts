import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT, SUBMIT_BATCH, type Submitted } from "../../testing/operations.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const FULL = `query ($id: ID!) { task(id: $id) {
  id status language environment code input output exitCode session labels segments createdAt startedAt finishedAt
  error { code } batch { id } retryOf { id } isolation { level } events { seq type data }
} }`;

async function count(table: "tasks" | "batches" | "outbox" | "events"): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::integer as n from ${sql.table(table)}`.execute(gateway.db);
  return rows[0]?.n ?? -1;
}

test("the answer to a submission says the same as a later query", async () => {
  const fields = FULL.slice(FULL.indexOf("{ task(id: $id) ") + 16, -2);
  const input = {
    code: "return input",
    input: { a: [1, null] },
    labels: { team: "x", n: 1, ok: true, none: null },
    session: "s",
  };
  const { submitTask } = await gateway.admin.data<{ submitTask: { id: string } }>(
    `mutation ($input: SubmitTaskInput!) { submitTask(input: $input) ${fields} }`,
    { input },
  );
  const { task } = await gateway.admin.data<{ task: unknown }>(FULL, { id: submitTask.id });
  expect(submitTask).toEqual(task);
  expect(task).toMatchObject({
    status: "QUEUED",
    language: "TYPESCRIPT",
    environment: "isolate",
    input: input.input,
    labels: input.labels,
  });
});

test("50 simultaneous identical submissions with one key are one task", async () => {
  const before = await count("tasks");
  const input = { code: "return 1", idempotencyKey: "fifty", labels: { a: 1 }, input: { x: 1, y: 2 } };
  const answers = await Promise.all(Array.from({ length: 50 }, () => gateway.admin.data<Submitted>(SUBMIT, { input })));
  expect(new Set(answers.map(({ submitTask }) => submitTask.id)).size).toBe(1);
  expect(await count("tasks")).toBe(before + 1);
  const reordered = { ...input, input: { y: 2, x: 1 }, priority: 0, language: "TYPESCRIPT" };
  const again = await gateway.admin.data<Submitted>(SUBMIT, { input: reordered });
  expect(again.submitTask.id).toBe(answers[0]?.submitTask.id);
});

test("the same key with another payload is a conflict, in another project it is not", async () => {
  await gateway.admin.data(SUBMIT, { input: { code: "return 1", idempotencyKey: "reused" } });
  const other = { input: { code: "return 2", idempotencyKey: "reused" } };
  expect(await gateway.admin.failure(SUBMIT, other)).toMatchObject({ code: "CONFLICT", retryable: false });
  const tenant = await gateway.tenant("reuser");
  await tenant.client.data(SUBMIT, other);
});

test("racing identical batches are one batch, and another payload is a conflict", async () => {
  const before = await count("batches");
  const input = { tasks: [{ code: "return 1" }, { code: "return 2" }], idempotencyKey: "b", label: "l" };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => gateway.admin.data<{ submitBatch: { id: string } }>(SUBMIT_BATCH, { input })),
  );
  expect(new Set(answers.map(({ submitBatch }) => submitBatch.id)).size).toBe(1);
  expect(await count("batches")).toBe(before + 1);
  const failure = await gateway.admin.failure(SUBMIT_BATCH, { input: { ...input, tasks: [{ code: "return 1" }] } });
  expect(failure.code).toBe("CONFLICT");
});

test("10,000 tasks passed as variables are one batch, in order, with only a window of them enqueued", async () => {
  const tasks = Array.from({ length: 10_000 }, (_, i) => ({ code: `return ${i}` }));
  const { submitBatch } = await gateway.admin.data<{
    submitBatch: { id: string; total: number; counts: { queued: number } };
  }>(SUBMIT_BATCH, { input: { tasks } });
  expect(submitBatch).toMatchObject({ total: 10_000, done: false, counts: { queued: 10_000 } });
  const { batch } = await gateway.admin.data<{ batch: { tasks: { edges: { node: { code: string } }[] } } }>(
    "query ($id: ID!) { batch(id: $id) { tasks(first: 100) { edges { node { code } } } } }",
    { id: submitBatch.id },
  );
  expect(batch.tasks.edges.map(({ node }) => node.code)).toEqual(tasks.slice(0, 100).map(({ code }) => code));
  const { rows } = await sql<{
    n: number;
  }>`select count(*)::integer as n from outbox where enqueued_at is not null`.execute(gateway.db);
  expect(rows[0]?.n).toBeLessThanOrEqual(2 * 256);
});

test("a batch with bad items names them and leaves nothing", async () => {
  const before = await Promise.all([count("tasks"), count("batches"), count("outbox"), count("events")]);
  const tasks = Array.from({ length: 30 }, (_, i) =>
    i === 17 ? { code: "return 1", timeoutMs: -1 } : { code: i === 20 ? " " : "return 1" },
  );
  const failure = await gateway.admin.failure(SUBMIT_BATCH, { input: { tasks } });
  expect(failure).toMatchObject({ code: "BAD_INPUT" });
  expect(failure.message).toMatch(/tasks\[17\]\.timeoutMs: is -1.*tasks\[20\]\.code: is empty/);
  const tooMany = await gateway.admin.failure(SUBMIT_BATCH, {
    input: { tasks: Array.from({ length: 10_001 }, () => ({ code: "1" })) },
  });
  expect(tooMany.code).toBe("TOO_LARGE");
  expect((await gateway.admin.failure(SUBMIT_BATCH, { input: { tasks: [] } })).code).toBe("BAD_INPUT");
  const keyed = await gateway.admin.failure(SUBMIT_BATCH, { input: { tasks: [{ code: "1", idempotencyKey: "k" }] } });
  expect(keyed.message).toContain("tasks[0].idempotencyKey");
  expect(await Promise.all([count("tasks"), count("batches"), count("outbox"), count("events")])).toEqual(before);
});

test("an inline batch of a reasonable size works", async () => {
  const items = Array.from({ length: 1_000 }, (_, i) => `{code: "return ${i}", priority: 1}`).join(" ");
  const answer = await gateway.admin.send(`mutation { submitBatch(input: {tasks: [${items}]}) { total } }`);
  expect(answer).toMatchObject({ data: { submitBatch: { total: 1_000 } } });
});

test("cancelling a queued task ends it, and again changes nothing", async () => {
  const { submitTask } = await gateway.admin.data<Submitted>(SUBMIT, { input: { code: "return 1" } });
  const cancel =
    "mutation ($id: ID!) { cancelTask(id: $id) { status finishedAt error { code retryable } events { seq type } } }";
  const first = await gateway.admin.data(cancel, { id: submitTask.id });
  expect(first).toMatchObject({
    cancelTask: {
      status: "CANCELLED",
      error: { code: "CANCELLED", retryable: false },
      events: [
        { seq: 1, type: "task.queued" },
        { seq: 2, type: "task.cancelled" },
      ],
    },
  });
  expect(await gateway.admin.data(cancel, { id: submitTask.id })).toEqual(first);
});

test("cancelling a batch ends what is queued", async () => {
  const input = { tasks: [{ code: "return 1" }, { code: "return 2" }] };
  const { submitBatch } = await gateway.admin.data<{ submitBatch: { id: string } }>(SUBMIT_BATCH, { input });
  const answer = await gateway.admin.data(
    "mutation ($id: ID!) { cancelBatch(id: $id) { done counts { cancelled } } }",
    { id: submitBatch.id },
  );
  expect(answer).toEqual({ cancelBatch: { done: true, counts: { cancelled: 2 } } });
});

test("a retry is a new task with the same submission; only ended tasks can be retried", async () => {
  const input = { code: "return 1", input: [1], labels: { a: "b" }, idempotencyKey: "retried", session: "s" };
  const { submitTask } = await gateway.admin.data<Submitted>(SUBMIT, { input });
  const retry = "mutation ($id: ID!) { retryTask(id: $id) { id status code input labels session retryOf { id } } }";
  expect((await gateway.admin.failure(retry, { id: submitTask.id })).code).toBe("CONFLICT");
  await gateway.admin.data("mutation ($id: ID!) { cancelTask(id: $id) { id } }", { id: submitTask.id });
  const { retryTask } = await gateway.admin.data<{ retryTask: { id: string } }>(retry, { id: submitTask.id });
  expect(retryTask).toMatchObject({
    status: "QUEUED",
    code: "return 1",
    input: [1],
    labels: { a: "b" },
    retryOf: { id: submitTask.id },
  });
  expect(retryTask.id).not.toBe(submitTask.id);
});

test("tasks of one burst have seeds of their own", async () => {
  const { rows } = await sql<{ all: number; distinct: number }>`
    select count(*)::integer as all, count(distinct seed)::integer as distinct from tasks
  `.execute(gateway.db);
  expect(rows[0]?.distinct).toBe(rows[0]?.all);
});

test("a task retried twice with one idempotency key is retried once; another task is a conflict", async () => {
  const retry = `mutation ($id: ID!, $idempotencyKey: String) {
    retryTask(id: $id, idempotencyKey: $idempotencyKey) { id retryOf { id } } }`;
  const ended = async (): Promise<string> => {
    const { submitTask } = await gateway.admin.data<Submitted>(SUBMIT, { input: { code: "return 1" } });
    await gateway.admin.data("mutation ($id: ID!) { cancelTask(id: $id) { id } }", { id: submitTask.id });
    return submitTask.id;
  };
  const [one, other] = [await ended(), await ended()];
  const given = { id: one, idempotencyKey: "retried once" };
  const answers = await Promise.all(Array.from({ length: 5 }, () => gateway.admin.data(retry, given)));
  expect(answers[0]).toMatchObject({ retryTask: { retryOf: { id: one } } });
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(await gateway.admin.failure(retry, { ...given, id: other })).toMatchObject({ code: "CONFLICT" });
  const submission = { code: "return 1", idempotencyKey: given.idempotencyKey };
  expect(await gateway.admin.failure(SUBMIT, { input: submission })).toMatchObject({ code: "CONFLICT" });
  expect(await gateway.admin.data(retry, { id: one })).not.toEqual(answers[0]);
  expect((await gateway.admin.failure(retry, { ...given, idempotencyKey: "" })).code).toBe("BAD_INPUT");
});
