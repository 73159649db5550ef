import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import type { Stack } from "../stack.ts";
import { median, quantile } from "../statistics.ts";
import { openSubscribers } from "../subscribers.ts";
import type { Row } from "../table.ts";

/** For the worker: the tool that the measured task reads the time with. */
export const FLOOD_ENV = { AIRLOCK_TOOLS: fileURLToPath(new URL("../clock-tool.ts", import.meta.url)) };

const ROUNDS = 4;
const SECONDS = 6;
/** What a change of the load leaves behind is nobody's figure. */
const SETTLE_MS = 1_000;

const SUBMIT = "mutation ($input: SubmitTaskInput!) { submitTask(input: $input) { id } }";
const CANCEL = "mutation ($id: ID!) { cancelTask(id: $id) { id } }";
const STATE = "query ($id: ID!) { task(id: $id) { status error { code } } }";
const FOLLOW = "subscription ($taskId: ID!) { taskEvents(taskId: $taskId) { seq data } }";

const CLOCK = `for (;;) {
  console.log("at " + (await tools.bench.clock({})) + ";");
  await new Promise((resolve) => setTimeout(resolve, 20));
}`;

interface Flood {
  readonly name: string;
  readonly code: string;
}

const LINE = "const line = 'y\\n'.repeat(4096);";
const FLOODS: readonly Flood[] = [
  // Ended at 16 MiB, and begun again for as long as it is measured.
  { name: "a task that prints without end", code: `for (;;) console.log("y");` },
  // 2 MiB a second, so that it ends by itself before the limit.
  {
    name: "a task that prints steadily, below the limit",
    code: `${LINE} for (let i = 0; i < 1800; i += 1) { console.log(line); await new Promise((r) => setTimeout(r, 4)); }`,
  },
];

/** How late another task's events are while one prints all it can: from the making of a line to its subscriber. */
export async function floodRows(stack: Stack): Promise<Row[]> {
  const rows: Row[] = [];
  for (const flood of FLOODS) rows.push(await floodRow(stack, flood));
  return rows;
}

async function floodRow(stack: Stack, flood: Flood): Promise<Row> {
  const measured = await submit(stack, CLOCK);
  let into: number[] = [];
  const target = { url: stack.url, key: stack.key, query: FOLLOW, variables: { taskId: measured } };
  const subscribers = await openSubscribers(1, target, (text) => {
    const now = performance.timeOrigin + performance.now();
    for (const [, at] of text.matchAll(/at ([\d.]+);/g)) into.push(now - Number(at));
  });
  const quiet: number[] = [];
  const flooded: number[] = [];
  let floods = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    into = [];
    await sleep(SETTLE_MS);
    into = quiet;
    await sleep(SECONDS * 1_000);
    into = [];
    const stop = keepFlooding(stack, flood);
    await sleep(SETTLE_MS);
    into = flooded;
    await sleep(SECONDS * 1_000);
    into = [];
    floods += await stop();
  }
  subscribers.close();
  await stack.api(CANCEL, { id: measured });
  const p50 = `${median(flooded).toFixed(1)} ms, without it ${median(quiet).toFixed(1)} ms`;
  return {
    name: `event latency beside ${flood.name}, p99, ${stack.backend.kind}`,
    figure: quantile(flooded, 0.99),
    bare: quantile(quiet, 0.99),
    unit: "ms",
    bar: 2,
    detail: `p50 ${p50}; ${flooded.length} lines beside ${floods} floods, ${quiet.length} without`,
  };
}

/** One at a time, the next when one has ended. Stops the last one and answers how many there were. */
function keepFlooding(stack: Stack, flood: Flood): () => Promise<number> {
  const enough = new AbortController();
  const run = async (): Promise<number> => {
    for (let count = 1; ; count += 1) {
      const id = await submit(stack, flood.code);
      while (!(await hasEnded(stack, id))) {
        if (enough.signal.aborted) await stack.api(CANCEL, { id });
        await sleep(50);
      }
      if (enough.signal.aborted) return count;
    }
  };
  const running = run();
  return () => {
    enough.abort();
    return running;
  };
}

async function submit(stack: Stack, code: string): Promise<string> {
  const input = { code, language: "JAVASCRIPT", timeoutMs: 300_000 };
  return (await stack.api<{ submitTask: { id: string } }>(SUBMIT, { input })).submitTask.id;
}

async function hasEnded(stack: Stack, id: string): Promise<boolean> {
  const { task } = await stack.api<{ task: { status: string; error: { code: string } | null } }>(STATE, { id });
  if (task.status === "FAILED" && task.error?.code !== "OUTPUT_LIMIT") throw new Error(`a flood ${task.error?.code}`);
  return !["QUEUED", "RUNNING"].includes(task.status);
}
