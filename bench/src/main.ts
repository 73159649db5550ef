import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { batchRows } from "./rows/batch.ts";
import { callRow } from "./rows/calls.ts";
import { historyRows } from "./rows/history.ts";
import { FLOOD_ENV, floodRows } from "./rows/flood.ts";
import { dockerRows } from "./rows/docker.ts";
import { idleRow } from "./rows/idle.ts";
import { parkMany, wakeMany } from "./rows/parking.ts";
import { processRow } from "./rows/process.ts";
import { streamRows } from "./rows/streams.ts";
import { wakeRows } from "./rows/wake.ts";
import { heapEnv } from "./heap.ts";
import { marksEnv } from "./marks.ts";
import { startStack } from "./stack.ts";
import type { Backend } from "@airlock/shared/queue";
import { isMet, ratio, renderTable, type Row } from "./table.ts";

const HELP = `npm run bench -- [options]

  --backend redis|postgres|both   what carries queue and bus (both)
  --tasks N                       tasks in a batch (10000)
  --rounds N                      single submissions on an idle system (200)
  --repeats N                     batches (3); the median counts
  --parked N                      tasks parked at a time (10000)
  --history N                     tasks in the larger of two histories (1000000)
  --only run|park|stream|flood|history|process|docker
                                  only these rows
  --docker SOCKET                 also the rows of containers, with the engine there and its image "airlock-sandbox"
  --json FILE                     also write the figures there

Needs redis-server on the PATH for the redis rows. Every figure stands beside its bare limit from the same run: compare
the ratios, the machine's own speed varies.
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      backend: { type: "string", default: "both" },
      tasks: { type: "string", default: "10000" },
      rounds: { type: "string", default: "200" },
      repeats: { type: "string", default: "3" },
      parked: { type: "string", default: "10000" },
      history: { type: "string", default: "1000000" },
      only: { type: "string" },
      docker: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const kinds = (["redis", "postgres"] as const).filter((kind) => ["both", kind].includes(values.backend));
  if (kinds.length === 0) throw new Error(`--backend is redis, postgres or both, not "${values.backend}"`);
  const rows: Row[] = [];
  const wanted = (rows: string): boolean => values.only === undefined || values.only === rows;
  for (const kind of kinds) {
    if (wanted("run")) rows.push(...(await runRows(kind, values)));
    if (wanted("park")) rows.push(...(await parkRows(kind, Number(values.parked), Number(values.rounds))));
    if (wanted("stream")) rows.push(...(await followRows(kind)));
    if (wanted("flood")) rows.push(...(await floodedRows(kind)));
  }
  if (wanted("history")) rows.push(...(await pageRows(Number(values.history))));
  if (wanted("process")) {
    const row = await processRow(Math.min(Number(values.rounds), 50));
    if (row !== null) rows.push(row);
  }
  if (values.docker !== undefined) rows.push(...(await dockerRows(values.docker, "airlock-sandbox", 15)));
  console.log(renderTable(rows));
  if (values.json !== undefined) {
    const figures = rows.map((row) => ({ ...row, ratio: ratio(row), met: isMet(row) }));
    await writeFile(
      values.json,
      `${JSON.stringify({ at: new Date().toISOString(), node: process.version, figures }, null, 2)}\n`,
    );
  }
}

async function runRows(
  kind: Backend["kind"],
  values: { rounds: string; tasks: string; repeats: string },
): Promise<Row[]> {
  const stack = await startStack(kind);
  try {
    const idle = await idleRow(stack, Number(values.rounds));
    const call = await callRow(stack, 100, 7);
    return [idle, ...(await batchRows(stack, Number(values.tasks), Number(values.repeats))), call];
  } finally {
    await stack.stop();
  }
}

/** On a stack of its own: what parked tasks weigh is seen best where there is nothing else. */
async function parkRows(kind: Backend["kind"], parked: number, rounds: number): Promise<Row[]> {
  const dir = await mkdtemp(path.join(tmpdir(), "airlock-bench-"));
  const stack = await startStack(kind, { ...heapEnv(dir), ...marksEnv(dir) });
  try {
    const batch = await parkMany(stack, parked, dir);
    const wakes = await wakeRows(stack, rounds, parked, dir);
    return [...batch.rows, ...wakes, await wakeMany(stack, batch.id, parked)];
  } finally {
    await stack.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function floodedRows(kind: Backend["kind"]): Promise<Row[]> {
  const stack = await startStack(kind, FLOOD_ENV);
  try {
    return await floodRows(stack);
  } finally {
    await stack.stop();
  }
}

async function followRows(kind: Backend["kind"]): Promise<Row[]> {
  const stack = await startStack(kind);
  try {
    return await streamRows(stack);
  } finally {
    await stack.stop();
  }
}

/** Lists are read from Postgres, whatever carries queue and bus. */
async function pageRows(tasks: number): Promise<Row[]> {
  const stack = await startStack("postgres");
  try {
    return await historyRows(stack, [10_000, tasks], 100);
  } finally {
    await stack.stop();
  }
}

await main();
