import { setTimeout as sleep } from "node:timers/promises";
import { bareInsert, bareIsolate, openBareQueue } from "../bare.ts";
import type { Stack } from "../stack.ts";
import { median } from "../statistics.ts";
import type { Row } from "../table.ts";

const SUBMIT = `mutation ($input: SubmitBatchInput!) { submitBatch(input: $input) { id } }`;
const COUNTS = `query ($id: ID!) { batch(id: $id) { counts { succeeded failed timedOut cancelled } done } }`;

interface Counts {
  batch: { counts: Record<"succeeded" | "failed" | "timedOut" | "cancelled", number>; done: boolean };
}

/** One submitBatch of small tasks, from the request to all SUCCEEDED; and how long its acceptance took. */
export async function batchRows(stack: Stack, tasks: number, repeats: number): Promise<Row[]> {
  const bare = await bareIsolate(1_000);
  const runs: { rate: number; acceptedMs: number }[] = [];
  for (let i = 0; i < repeats; i += 1) runs.push(await runBatch(stack, tasks));
  const queue = await openBareQueue(stack.backend);
  const bareAccept: number[] = [];
  for (let i = 0; i < repeats; i += 1) {
    bareAccept.push((await bareInsert(stack.databaseUrl, tasks)) + (await queue.addBulk(tasks)));
  }
  await queue.close();
  const bareAfter = await bareIsolate(1_000);
  const { kind } = stack.backend;
  return [
    {
      name: `${tasks} tasks in one batch, ${kind}`,
      figure: median(runs.map((run) => run.rate)),
      bare: (bare.perSecond + bareAfter.perSecond) / 2,
      unit: "tasks/s",
      bar: kind === "redis" ? 1.5 : 0.8,
      detail: "bare: QuickJS create, eval, dispose in one process",
    },
    {
      name: `submitBatch of ${tasks} accepted, ${kind}`,
      figure: median(runs.map((run) => run.acceptedMs)),
      bare: median(bareAccept),
      unit: "ms",
      bar: 2.5,
      detail: "bare: one multi-row insert and one addBulk",
    },
  ];
}

async function runBatch(stack: Stack, count: number): Promise<{ rate: number; acceptedMs: number }> {
  const tasks = Array.from({ length: count }, () => ({ code: "return 1 + 1" }));
  const from = performance.now();
  const { submitBatch } = await stack.api<{ submitBatch: { id: string } }>(SUBMIT, { input: { tasks } });
  const acceptedMs = performance.now() - from;
  for (;;) {
    const { batch } = await stack.api<Counts>(COUNTS, { id: submitBatch.id });
    if (batch.done) {
      if (batch.counts.succeeded !== count) throw new Error(`not all succeeded: ${JSON.stringify(batch.counts)}`);
      return { rate: count / ((performance.now() - from) / 1000), acceptedMs };
    }
    await sleep(50);
  }
}
