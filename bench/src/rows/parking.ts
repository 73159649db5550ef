import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import pg from "pg";
import { heapOf } from "../heap.ts";
import type { Stack } from "../stack.ts";
import type { Row } from "../table.ts";

const SUBMIT = `mutation ($input: SubmitBatchInput!) { submitBatch(input: $input) { id } }`;
const COUNTS = `query ($id: ID!) { batch(id: $id) { counts { queued running parked succeeded failed timedOut } } }`;
const DECIDE_ALL = `mutation ($filter: ApprovalFilter!) {
  decideApprovals(filter: $filter, decision: APPROVE) { id errorCode } }`;
const POLICY = `mutation { setToolPolicy(pattern: "util.echo", mode: REQUIRED) { id } }`;
const STATS = `{ workers { running lastSeenAt } }`;

const STUCK_MS = 30_000;

interface Counts {
  batch: { counts: { queued: number; running: number; parked: number; succeeded: number } };
}

export interface ParkedBatch {
  readonly id: string;
  readonly rows: readonly Row[];
}

/** Parks `count` distinct tasks at an approval, and weighs them. */
export async function parkMany(stack: Stack, count: number, heapDir: string): Promise<ParkedBatch> {
  await stack.api(POLICY);
  const before = await weigh(stack, heapDir);
  const tasks = Array.from({ length: count }, (_, i) => ({
    code: `const n = ${i}; const got = await tools.util.echo({ value: { n } }); return got.n === n ? n : "wrong"`,
  }));
  const from = performance.now();
  const { submitBatch } = await stack.api<{ submitBatch: { id: string } }>(SUBMIT, { input: { tasks } });
  await until(stack, submitBatch.id, ({ parked }) => parked === count);
  const seconds = (performance.now() - from) / 1000;
  await sleep(1_000);
  const after = await weigh(stack, heapDir);
  const slots = await slotsTaken(stack);
  const { kind } = stack.backend;
  const each = (what: "postgres" | "redis") => (after[what] - before[what]) / count;
  const rows: Row[] = [
    { name: `parking ${count}, ${kind}`, figure: count / seconds, bare: null, unit: "tasks/s", bar: 1000 },
    { name: `kept guest, ${kind}`, figure: after.guest, bare: null, unit: "bytes", bar: 6144 },
    { name: `parked task in Postgres, ${kind}`, figure: each("postgres"), bare: null, unit: "bytes", bar: 10_240 },
    {
      name: `heap of the gateway with ${count} parked, ${kind}`,
      figure: (after.heaps[0] - before.heaps[0]) / 2 ** 20,
      bare: null,
      unit: "MB",
      bar: 16,
      detail: "after a collection, above what it was with none",
    },
    {
      name: `heap of the worker with ${count} parked, ${kind}`,
      figure: (after.heaps[1] - before.heaps[1]) / 2 ** 20,
      bare: null,
      unit: "MB",
      bar: 16,
    },
    {
      name: `slots taken by ${count} parked, ${kind}`,
      figure: slots,
      bare: null,
      unit: "slots",
      bar: 0,
    },
  ];
  if (kind === "redis") {
    rows.push({ name: "parked task in Redis", figure: each("redis"), bare: null, unit: "bytes", bar: 1536 });
  }
  return { id: submitBatch.id, rows };
}

/** As the workers themselves say, in a heartbeat that they make from now on. */
async function slotsTaken(stack: Stack): Promise<number> {
  const since = new Date().toISOString();
  for (;;) {
    const { workers } = await stack.api<{ workers: { running: number; lastSeenAt: string }[] }>(STATS);
    if (workers.every(({ lastSeenAt }) => lastSeenAt > since))
      return workers.reduce((sum, one) => sum + one.running, 0);
    await sleep(100);
  }
}

/** One decideApprovals for all of them, to the last one's end. */
export async function wakeMany(stack: Stack, batch: string, count: number): Promise<Row> {
  const from = performance.now();
  const { decideApprovals } = await stack.api<{ decideApprovals: { errorCode: string | null }[] }>(DECIDE_ALL, {
    filter: { batch },
  });
  const accepted = performance.now() - from;
  if (decideApprovals.some(({ errorCode }) => errorCode !== null)) throw new Error("not all could be decided");
  await until(stack, batch, ({ succeeded }) => succeeded === count);
  const seconds = (performance.now() - from) / 1000;
  const detail = `decided in ${accepted.toFixed(0)} ms`;
  return {
    name: `waking ${count} at once, to completion, ${stack.backend.kind}`,
    figure: count / seconds,
    bare: null,
    unit: "tasks/s",
    bar: 1500,
    detail,
  };
}

async function until(stack: Stack, id: string, holds: (counts: Counts["batch"]["counts"]) => boolean): Promise<void> {
  let before = "";
  let since = performance.now();
  for (;;) {
    const { batch } = await stack.api<Counts>(COUNTS, { id });
    if (holds(batch.counts)) return;
    const now = JSON.stringify(batch.counts);
    if (now !== before) [before, since] = [now, performance.now()];
    else if (performance.now() - since > STUCK_MS) throw new Error(`the batch stands still: ${now}`);
    await sleep(25);
  }
}

interface Weight {
  readonly postgres: number;
  readonly redis: number;
  /** Mean bytes of a kept guest. */
  readonly guest: number;
  readonly heaps: readonly [gateway: number, worker: number];
}

const TABLES = ["tasks", "tool_calls", "approvals", "events", "kept_guests", "outbox", "task_labels"];

async function weigh(stack: Stack, heapDir: string): Promise<Weight> {
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    // Dead versions are the next tasks' room, not the parked ones' weight.
    for (const table of TABLES) await client.query(`vacuum full ${table}`);
    const sizes = await client.query<{ bytes: string }>(
      "select sum(pg_total_relation_size(t::regclass)) as bytes from unnest($1::text[]) t",
      [TABLES],
    );
    const guests = await client.query<{ bytes: string | null }>("select avg(length(state)) as bytes from kept_guests");
    return {
      postgres: Number(sizes.rows[0]?.bytes),
      redis: stack.redisUrl === null ? 0 : await redisBytes(stack.redisUrl),
      guest: Number(guests.rows[0]?.bytes ?? 0),
      heaps: [await heapOf(stack.pids[0], heapDir), await heapOf(stack.pids[1], heapDir)],
    };
  } finally {
    await client.end();
  }
}

async function redisBytes(url: string): Promise<number> {
  const redis = new Redis(url);
  try {
    return Number(/used_memory:(\d+)/.exec(await redis.info("memory"))?.[1]);
  } finally {
    redis.disconnect();
  }
}
