import { readFile } from "node:fs/promises";
import { createPostgresBackend, type Job, Queue, Worker } from "bullmq";
import type { Backend } from "@airlock/shared/queue";
import pg from "pg";
import { QuickJS } from "quickjs-wasi";
import { median } from "./statistics.ts";

/** Bare limits: the same libraries with nothing of Airlock around them, measured in the same run. */

/** Compiled once: the compiler's threads would otherwise still be busy when the next figure is taken. */
let compiled: Promise<WebAssembly.Module> | null = null;

async function compile(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))));
}

export async function bareIsolate(runs: number): Promise<{ perSecond: number; p50Ms: number }> {
  const wasm = await (compiled ??= compile());
  const times: number[] = [];
  const started = performance.now();
  for (let i = 0; i < runs; i += 1) {
    const from = performance.now();
    const vm = await QuickJS.create({ wasm });
    vm.evalCode("1 + 1").dispose();
    vm.dispose();
    times.push(performance.now() - from);
  }
  return { perSecond: runs / ((performance.now() - started) / 1000), p50Ms: median(times) };
}

interface BareQueue {
  /** Milliseconds from add to the processor's start. */
  addToProcessed(): Promise<number>;
  /** Milliseconds from the promotion of a delayed job to the processor's start. */
  promoteToProcessed(): Promise<number>;
  /** Milliseconds for one addBulk of `count`. */
  addBulk(count: number): Promise<number>;
  close(): Promise<void>;
}

export async function openBareQueue(backend: Backend): Promise<BareQueue> {
  const waiting = new Map<string, () => void>();
  const process = (job: Job): Promise<void> => {
    waiting.get(job.id ?? "")?.();
    return Promise.resolve();
  };
  const { make, work } = constructors(backend);
  const [queue, bulk] = [make("bare"), make("bare-bulk")];
  const worker = work("bare", process);
  await Promise.all([queue.waitUntilReady(), bulk.waitUntilReady(), worker.waitUntilReady()]);
  let next = 0;
  const opts = { removeOnComplete: true };
  return {
    async addToProcessed() {
      const jobId = `bare_${next++}`;
      const processed = new Promise<void>((resolve) => waiting.set(jobId, resolve));
      const from = performance.now();
      await Promise.all([queue.add("bare", { id: jobId }, { jobId, ...opts }), processed]);
      waiting.delete(jobId);
      return performance.now() - from;
    },
    async promoteToProcessed() {
      const jobId = `bare_${next++}`;
      const job = await queue.add("bare", { id: jobId }, { jobId, delay: 3600_000, ...opts });
      const processed = new Promise<void>((resolve) => waiting.set(jobId, resolve));
      const from = performance.now();
      await Promise.all([job.promote(), processed]);
      waiting.delete(jobId);
      return performance.now() - from;
    },
    async addBulk(count) {
      const jobs = Array.from({ length: count }, (_, i) => ({
        name: "bare",
        data: { id: i },
        opts: { jobId: `bulk_${next}_${i}`, ...opts },
      }));
      next += 1;
      const from = performance.now();
      await bulk.addBulk(jobs);
      const took = performance.now() - from;
      await bulk.obliterate({ force: true });
      return took;
    },
    async close() {
      await worker.close();
      await Promise.all([queue.close(), bulk.close()]);
    },
  };
}

function constructors(backend: Backend): {
  make: (name: string) => Queue;
  work: (name: string, process: (job: Job) => Promise<void>) => Worker;
} {
  if (backend.kind === "redis") {
    const connection = { url: backend.url, maxRetriesPerRequest: null };
    return {
      make: (name) => new Queue(name, { connection }),
      work: (name, process) => new Worker(name, process, { connection }),
    };
  }
  const connection = { connectionString: backend.url };
  return {
    make: (name) => new Queue(name, { connection }, createPostgresBackend) as unknown as Queue,
    work: (name, process) => new Worker(name, process, { connection }, createPostgresBackend) as unknown as Worker,
  };
}

/** Milliseconds for one multi-row insert of `count` small rows, committed. */
export async function bareInsert(url: string, count: number): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("create table if not exists bare_insert (id integer, code text, at timestamptz default now())");
    const ids = Array.from({ length: count }, (_, i) => i);
    const codes = ids.map(() => "return 1 + 1");
    const from = performance.now();
    await client.query("insert into bare_insert (id, code) select * from unnest($1::integer[], $2::text[])", [
      ids,
      codes,
    ]);
    const took = performance.now() - from;
    await client.query("drop table bare_insert");
    return took;
  } finally {
    await client.end();
  }
}

/** Milliseconds of each of `count` single-row inserts, committed one after the other. */
export async function bareCommits(url: string, count: number): Promise<number[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("create table if not exists bare_commit (id integer, at timestamptz default now())");
    const times: number[] = [];
    for (let id = 0; id < count; id += 1) {
      const from = performance.now();
      await client.query("insert into bare_commit (id) values ($1)", [id]);
      times.push(performance.now() - from);
    }
    await client.query("drop table bare_commit");
    return times;
  } finally {
    await client.end();
  }
}
