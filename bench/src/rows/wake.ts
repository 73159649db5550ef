import { topics } from "@airlock/shared/contracts";
import { openBareQueue } from "../bare.ts";
import type { Stack } from "../stack.ts";
import { median, quantile } from "../statistics.ts";
import type { Row } from "../table.ts";

const SUBMIT = `mutation { submitTask(input: { code: "return await tools.util.echo({ value: 1 })" }) { id } }`;
const PENDING = `query ($id: ID!) { task(id: $id) { status approvals(status: PENDING) { id inputHash } } }`;
const DECIDE = `mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }`;

interface Pending {
  task: { status: string; approvals: { id: string; inputHash: string }[] };
}

/**
 * One decision at a time while many other tasks are parked: until the woken task has ended, which is one commit after
 * its guest ran again. The decision's commit is heard of over the same bus as the end.
 */
export async function wakeRows(stack: Stack, rounds: number, parked: number): Promise<Row[]> {
  const heard = new Map<string, { at: number; seq: number }[]>();
  let tell: () => void = () => undefined;
  const unsubscribe = await stack.bus.subscribe(topics.events, (pairs) => {
    const at = performance.now();
    for (const [id, seq] of pairs) heard.get(id)?.push({ at, seq });
    tell();
  });
  const queue = await openBareQueue(stack.backend);
  const [bare, fromRequest, fromCommit]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < rounds; i += 1) {
    bare.push(await queue.promoteToProcessed());
    const { submitTask } = await stack.api<{ submitTask: { id: string } }>(SUBMIT);
    const approval = await pendingOf(stack, submitTask.id);
    const hints: { at: number; seq: number }[] = [];
    heard.set(submitTask.id, hints);
    const from = performance.now();
    const decided = stack.api(DECIDE, { input: { ...approval, decision: "APPROVE" } });
    // Decided, resumed, the call's outcome, and the end: four events, however they travel.
    while ((hints.at(-1)?.seq ?? 0) < (hints[0]?.seq ?? 0) + 3) await new Promise<void>((resolve) => (tell = resolve));
    await decided;
    heard.delete(submitTask.id);
    const [committed, ended] = [hints[0]?.at ?? 0, hints.at(-1)?.at ?? 0];
    fromRequest.push(ended - from);
    fromCommit.push(ended - committed);
  }
  await queue.close();
  await unsubscribe();
  const { kind } = stack.backend;
  const row = (name: string, times: number[], bar: number): Row => ({
    name: `${name}, ${parked} parked, p50, ${kind}`,
    figure: median(times),
    bare: median(bare),
    unit: "ms",
    bar,
    detail: `p99 ${quantile(times, 0.99).toFixed(1)} ms; until the woken task has run its call and ended; bare: promote to processed`,
  });
  return [row("decision's commit to woken", fromCommit, 4), row("decision's request to woken", fromRequest, 7)];
}

async function pendingOf(stack: Stack, id: string): Promise<{ id: string; inputHash: string }> {
  for (;;) {
    const { task } = await stack.api<Pending>(PENDING, { id });
    const [approval] = task.approvals;
    if (task.status === "PARKED" && approval) return approval;
  }
}
