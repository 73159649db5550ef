import { topics } from "@airlock/shared/contracts";
import { bareIsolate, openBareQueue } from "../bare.ts";
import type { Stack } from "../stack.ts";
import { median, quantile } from "../statistics.ts";
import type { Row } from "../table.ts";

const SUBMIT = `mutation { submitTask(input: { code: "return 1 + 1" }) { id } }`;
/** queued, started, succeeded. */
const LAST_SEQ = 3;

/** On an idle system, one task at a time: from the request to its terminal event, beside a bare queue and a bare VM. */
export async function idleRow(stack: Stack, rounds: number): Promise<Row> {
  const ended = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  const unsubscribe = await stack.bus.subscribe(topics.events, (pairs) => {
    const now = performance.now();
    for (const [id, seq] of pairs) {
      if (seq < LAST_SEQ) continue;
      ended.set(id, now);
      waiting.get(id)?.();
    }
  });
  const queue = await openBareQueue(stack.backend);
  const [airlock, bareQueue, bareVm]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < rounds; i += 1) {
    bareQueue.push(await queue.addToProcessed());
    bareVm.push((await bareIsolate(1)).p50Ms);
    const from = performance.now();
    const { submitTask } = await stack.api<{ submitTask: { id: string } }>(SUBMIT);
    if (!ended.has(submitTask.id)) await new Promise<void>((resolve) => waiting.set(submitTask.id, resolve));
    airlock.push((ended.get(submitTask.id) ?? Number.NaN) - from);
  }
  await queue.close();
  await unsubscribe();
  return {
    name: `idle submitTask to finished, p50, ${stack.backend.kind}`,
    figure: median(airlock),
    bare: median(bareQueue) + median(bareVm),
    unit: "ms",
    bar: 3.5,
    detail: `p99 ${quantile(airlock, 0.99).toFixed(1)} ms; bare: add to processed, and one VM`,
  };
}
