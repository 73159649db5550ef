import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { newEvent, newId, topics } from "@airlock/shared/contracts";
import {
  claimTasks,
  type Database,
  insertTasks,
  openDatabase,
  registerWorker,
  writeSegments,
} from "@airlock/shared/db";
import { newTask } from "@airlock/shared/testing";
import type { Stack } from "../stack.ts";
import { median, quantile } from "../statistics.ts";
import { openSubscribers } from "../subscribers.ts";
import type { Row } from "../table.ts";

const SUBSCRIBERS = 200;
const SECONDS = 10;
/** Connections, caches and the compiler settle first. */
const WARM_UP_MS = 2_000;
const BURST_MS = 10;

/** The task was queued, and has begun. */
const FOLLOWED_AFTER = 2;
const FOLLOW = `subscription ($taskId: ID!) { taskEvents(taskId: $taskId, after: ${FOLLOWED_AFTER}) { seq data } }`;
const clock = (): number => performance.timeOrigin + performance.now();

/** One task that many follow: from an event's commit, or its making, to each subscriber. */
export async function streamRows(stack: Stack): Promise<Row[]> {
  const { kind } = stack.backend;
  const row = async (perSecond: number, path: "graphql" | "raw", bar: number): Promise<Row> => {
    const burst = (perSecond * BURST_MS) / 1_000;
    const bare = await bareDelivery(path, burst);
    const { latencies: airlock, missing } = await delivery(stack, { burst, text: "tick", seconds: SECONDS });
    return {
      name: `${SUBSCRIBERS} subscribers, ${perSecond} events/s, p99, ${kind}`,
      figure: quantile(airlock, 0.99),
      missing,
      bare: quantile(bare, 0.99),
      unit: "ms",
      bar,
      detail: `p50 ${median(airlock).toFixed(1)} ms, bare ${median(bare).toFixed(1)} ms; ${airlock.length} deliveries, bare ${bare.length} (${path === "raw" ? "plain writes" : "yoga's async generator"})`,
    };
  };
  return [await row(100, "graphql", 3), await row(1_000, "raw", 2), ...(await pausedRows(stack))];
}

/** Half of the subscribers stop reading for a minute, while each would be sent 24 MB: the gateway's cost, and the others'. */
async function pausedRows(stack: Stack): Promise<Row[]> {
  const load = { burst: 1, text: "x".repeat(4_096) };
  const free = await delivery(stack, { ...load, seconds: SECONDS });
  const before = await residentMB(stack.pids[0]);
  let after = 0;
  const beside = await delivery(stack, {
    ...load,
    seconds: 60,
    paused: SUBSCRIBERS / 2,
    onEnd: async () => (after = await residentMB(stack.pids[0])),
  });
  const paused = `${SUBSCRIBERS / 2} of ${SUBSCRIBERS} paused for a minute`;
  return [
    {
      name: `gateway's growth, ${paused}, ${stack.backend.kind}`,
      figure: after - before,
      bare: null,
      unit: "MB",
      bar: 64,
    },
    {
      name: `p99 of the others, ${paused}, ${stack.backend.kind}`,
      figure: quantile(beside.latencies, 0.99),
      bare: quantile(free.latencies, 0.99),
      unit: "ms",
      // They notice nothing, to what two runs differ by.
      bar: 1.2,
      missing: beside.missing + free.missing,
      detail: `bare: with none paused; p50 ${median(beside.latencies).toFixed(1)} ms, bare ${median(free.latencies).toFixed(1)} ms`,
    },
  ];
}

/** Linux only, as all of the bench that looks at processes. */
async function residentMB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

interface Load {
  /** Events that are written together, every 10 ms. */
  readonly burst: number;
  readonly text: string;
  readonly seconds: number;
  /** The first ones, which stop reading when it is measured. */
  readonly paused?: number;
  /** While all are still connected. */
  readonly onEnd?: () => Promise<unknown>;
}

interface Delivered {
  /** Of each event to each subscriber that reads. */
  readonly latencies: number[];
  /** Not there when it was over, not in order or not once; those not there count among the latencies as they stand. */
  readonly missing: number;
}

/** What is not there by then is late by more than this. */
const LATE_MS = 1_000;

async function delivery(stack: Stack, load: Load): Promise<Delivered> {
  const { burst, text, seconds, paused = 0, onEnd } = load;
  const db = openDatabase({ url: stack.databaseUrl, poolSize: 2, program: "airlock-bench", onError: console.warn });
  const taskId = await startTask(db);
  /** By seq; NaN: written to warm up. */
  const committed: number[] = [];
  const latencies: number[] = [];
  const takenUpTo = new Int32Array(SUBSCRIBERS).fill(FOLLOWED_AFTER);
  let missing = 0;
  let measuring = false;
  const note = (at: number | undefined): void => {
    if (at !== undefined && !Number.isNaN(at)) latencies.push(clock() - at);
  };
  const subscribers = await openSubscribers(
    SUBSCRIBERS,
    { url: stack.url, key: stack.key, query: FOLLOW, variables: { taskId } },
    (event, subscriber) => {
      if (measuring && subscriber < paused) return;
      const seq = Number(/^id: (\d+)/.exec(event)?.[1]);
      if (seq !== (takenUpTo[subscriber] as number) + 1) missing += 1;
      takenUpTo[subscriber] = seq;
      // Undefined: it is here before its writer knows that it was committed.
      note(committed[seq]);
    },
  );
  const events = Array.from({ length: burst }, () => newEvent("task.output", { stream: "stdout", text }));
  const nothing = { outputChars: 0, calls: [], updates: [], approvals: [], activeMs: 0, end: null, parking: null };
  const from = clock();
  let last = FOLLOWED_AFTER;
  for (let bursts = 1; clock() - from < WARM_UP_MS + seconds * 1_000; bursts += 1) {
    if (!measuring && clock() - from > WARM_UP_MS) {
      measuring = true;
      subscribers.pause(paused);
    }
    const [written] = await writeSegments(db, [{ taskId, fence: 1, events, ...nothing }]);
    if (!written) throw new Error("the task was taken away");
    last = written.seq;
    const now = clock();
    for (let i = 0; i < burst; i += 1) committed[last - i] = measuring ? now : Number.NaN;
    await stack.bus.publish(topics.events, [[taskId, last]]);
    await sleep(Math.max(0, from + bursts * BURST_MS - clock()));
  }
  await sleep(LATE_MS);
  for (const upTo of takenUpTo.subarray(paused)) {
    missing += last - upTo;
    for (let seq = upTo + 1; seq <= last; seq += 1) note(committed[seq]);
  }
  await onEnd?.();
  subscribers.close();
  await db.destroy();
  return { latencies, missing };
}

async function startTask(db: Database): Promise<string> {
  const project = await db.selectFrom("projects").select("id").where("bootstrap", "=", true).executeTakeFirstOrThrow();
  const task = newTask(project.id);
  await insertTasks(db, [task], 0);
  const isolation = '{"provider":"isolate","level":"wasm","enforced":{}}';
  const workerId = newId();
  await registerWorker(db, { id: workerId, host: "bench", version: "0", capacity: 1, providers: [], tools: [] });
  // A worker without a process: it was seen in the future, so that nobody takes its task over.
  await db
    .updateTable("workers")
    .set({ last_seen_at: new Date(Date.now() + 3_600_000) })
    .where("id", "=", workerId)
    .execute();
  await claimTasks(db, [{ taskId: task.id, job: 1, isolation, image: null }], workerId);
  return task.id;
}

async function bareDelivery(path: "graphql" | "raw", burst: number): Promise<number[]> {
  const script = fileURLToPath(new URL("../bare-stream.ts", import.meta.url));
  const child = spawn(process.execPath, [script, String(BURST_MS), String(burst)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  const latencies: number[] = [];
  let measuring = false;
  const url = `http://127.0.0.1:${String(port).trim()}/${path}`;
  const query = path === "raw" ? {} : { query: "subscription { tick { seq at } }" };
  const subscribers = await openSubscribers(SUBSCRIBERS, { url, ...query }, (text) => {
    if (measuring) latencies.push(clock() - Number(/"at":"([\d.]+)"/.exec(text)?.[1]));
  });
  await sleep(WARM_UP_MS);
  measuring = true;
  await sleep(SECONDS * 1_000);
  measuring = false;
  subscribers.close();
  child.kill();
  await once(child, "exit");
  return latencies;
}
