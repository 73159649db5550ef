import { openDatabase } from "@airlock/shared/db";
import { fillHistory } from "../fill-history.ts";
import type { Stack } from "../stack.ts";
import { median } from "../statistics.ts";
import type { Row } from "../table.ts";

const PAGE = `query ($filter: TaskFilter) { tasks(first: 20, filter: $filter) {
  edges { node { id status environment createdAt labels error { code } } } pageInfo { hasNextPage endCursor } } }`;
const STATS = "{ queueStats { runnable running parked oldestWaitingMs finishedLastMinute } }";
const WARM_UP = 10;

interface Page {
  readonly tasks: { readonly edges: readonly unknown[] };
}

/** What is asked of a table of `tasks`, and how many tasks answer. */
const pagesOf = (tasks: number): readonly (readonly [name: string, filter: object, found: number])[] => [
  ["the first page", {}, 20],
  ["status FAILED", { status: ["FAILED"] }, 20],
  ["status SUCCEEDED", { status: ["SUCCEEDED"] }, 20],
  ["status QUEUED or RUNNING, none", { status: ["QUEUED", "RUNNING"] }, 0],
  ["a label of one task", { label: { ticket: tasks } }, 1],
  ["a label of half", { label: { nightly: true } }, 20],
  ["a rare word", { search: `needle${tasks}` }, 1],
  ["a word of half", { search: "shipment" }, 20],
  ["a word of none", { search: "unheardof" }, 0],
  ["a label of half, status CANCELLED", { label: { nightly: true }, status: ["CANCELLED"] }, 20],
  ["two labels that exclude each other", { label: { nightly: true, team: "team-1" } }, 0],
  ["a rare word, an environment", { search: `needle${tasks}`, environment: "isolate" }, 1],
  ["an environment of none", { environment: "docker" }, 0],
];

/** Pages of a project's history, and its statistics, at one size of the table and at a larger one. */
export async function historyRows(
  stack: Stack,
  [small, large]: readonly [number, number],
  rounds: number,
): Promise<Row[]> {
  const before = await measureAt(stack, 0, small, rounds);
  const after = await measureAt(stack, small, large, rounds);
  return [...after].map(([name, figure]) => ({
    name: `history of ${large} tasks: ${name}, p50`,
    figure,
    bare: before.get(name) ?? null,
    unit: "ms",
    bar: 3,
    detail: `bare: the same at ${small}`,
  }));
}

async function measureAt(stack: Stack, from: number, to: number, rounds: number): Promise<Map<string, number>> {
  const db = openDatabase({ url: stack.databaseUrl, poolSize: 2, program: "airlock-bench", onError: console.warn });
  await fillHistory(db, from, to);
  await db.destroy();
  const times = new Map<string, number>();
  for (const [name, filter, found] of pagesOf(to)) {
    const page = async (): Promise<void> => {
      const { tasks } = await stack.api<Page>(PAGE, { filter });
      if (tasks.edges.length !== found) throw new Error(`${name}: ${tasks.edges.length} tasks instead of ${found}`);
    };
    times.set(name, await timeOf(page, rounds));
  }
  times.set("queueStats", await timeOf(() => stack.api(STATS), rounds));
  return times;
}

async function timeOf(ask: () => Promise<unknown>, rounds: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < WARM_UP + rounds; i += 1) {
    const from = performance.now();
    await ask();
    if (i >= WARM_UP) times.push(performance.now() - from);
  }
  return median(times);
}
