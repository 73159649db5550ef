import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { openBareQueue } from "../bare.ts";
import { markOf } from "../marks.ts";
import type { Stack } from "../stack.ts";
import { median, quantile } from "../statistics.ts";
import type { Row } from "../table.ts";

const CODE =
  "const { value } = await tools.util.echo({ value: input }); await tools.bench.mark({ id: value ?? input })";
const SUBMIT = `mutation ($code: String!, $input: JSON!) { submitTask(input: { code: $code, input: $input }) { id } }`;
const LOOK = `query ($id: ID!) { task(id: $id) { status approvals(status: PENDING) { id inputHash } } }`;
const DECIDE = `mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }`;

interface Look {
  task: { status: string; approvals: { id: string; inputHash: string }[] };
}

/**
 * One decision at a time while many other tasks are parked: until the woken guest has run on to its next call. The
 * decision's commit is as Postgres has it.
 */
export async function wakeRows(stack: Stack, rounds: number, parked: number, marks: string): Promise<Row[]> {
  const queue = await openBareQueue(stack.backend);
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  const [bare, fromRequest, fromCommit]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < rounds; i += 1) {
    bare.push(await queue.promoteToProcessed());
    const mark = randomUUID();
    const { submitTask } = await stack.api<{ submitTask: { id: string } }>(SUBMIT, { code: CODE, input: mark });
    const [approval] = await lookFor(stack, submitTask.id, "PARKED");
    const from = performance.timeOrigin + performance.now();
    await stack.api(DECIDE, { input: { ...approval, decision: "APPROVE" } });
    const running = await markOf(mark, marks);
    fromRequest.push(running - from);
    fromCommit.push(running - (await committedAt(client, approval?.id ?? "")));
    await lookFor(stack, submitTask.id, "SUCCEEDED");
  }
  await client.end();
  await queue.close();
  const { kind } = stack.backend;
  const row = (name: string, times: number[], bar: number): Row => ({
    name: `${name}, ${parked} parked, p50, ${kind}`,
    figure: median(times),
    bare: median(bare),
    unit: "ms",
    bar,
    detail: `p99 ${quantile(times, 0.99).toFixed(1)} ms; until the woken guest made its next call; bare: promote to processed`,
  });
  return [
    row("decision's commit to guest running", fromCommit, 4),
    row("decision's request to guest running", fromRequest, 7),
  ];
}

async function lookFor(stack: Stack, id: string, status: string): Promise<Look["task"]["approvals"]> {
  for (;;) {
    const { task } = await stack.api<Look>(LOOK, { id });
    if (task.status === status) return task.approvals;
    await sleep(2);
  }
}

async function committedAt(client: pg.Client, approvalId: string): Promise<number> {
  const { rows } = await client.query<{ at: string }>(
    "select extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000 as at from approvals where id = $1",
    [approvalId],
  );
  return Number(rows[0]?.at);
}
