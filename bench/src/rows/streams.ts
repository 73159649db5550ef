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

const FOLLOW = "subscription ($taskId: ID!) { taskEvents(taskId: $taskId, after: 2) { seq data } }";
const clock = (): number => performance.timeOrigin + performance.now();

/** One task that many follow: from an event's commit, or its making, to each subscriber. */
export async function streamRows(stack: Stack): Promise<Row[]> {
  const { kind } = stack.backend;
  const row = async (perSecond: number, path: "graphql" | "raw", bar: number): Promise<Row> => {
    const burst = (perSecond * BURST_MS) / 1_000;
    const bare = await bareDelivery(path, burst);
    const airlock = await delivery(stack, { burst, text: "tick", seconds: SECONDS });
    return {
      name: `${SUBSCRIBERS} subscribers, ${perSecond} events/s, p99, ${kind}`,
      figure: quantile(airlock, 0.99),
      bare: quantile(bare, 0.99),
      unit: "ms",
      bar,
      detail: `p50 ${median(airlock).toFixed(1)} ms, bare ${median(bare).toFixed(1)} ms; ${airlock.length} deliveries, bare ${bare.length} (${path === "raw" ? "plain writes" : "yoga's async generator"})`,
    };
  };
  return [await row(100, "graphql", 3), await row(1_000, "raw", 2), await pausedRow(stack)];
}

/** Half of the subscribers stop reading for a minute, while each would be sent 24 MB. */
async function pausedRow(stack: Stack): Promise<Row> {
  const load = { burst: 1, text: "x".repeat(4_096), seconds: 60 };
  const free = await delivery(stack, { ...load, seconds: SECONDS });
  const before = await residentMB(stack.pids[0]);
  let after = 0;
  const beside = await delivery(stack, {
    ...load,
    paused: SUBSCRIBERS / 2,
    onEnd: async () => (after = await residentMB(stack.pids[0])),
  });
  return {
    name: `gateway's growth, ${SUBSCRIBERS / 2} of ${SUBSCRIBERS} paused for a minute, ${stack.backend.kind}`,
    figure: after - before,
    bare: null,
    unit: "MB",
    bar: 64,
    detail: `p99 of the others ${quantile(beside, 0.99).toFixed(1)} ms; with none paused ${quantile(free, 0.99).toFixed(1)} ms`,
  };
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
  readonly paused?: number;
  /** While all are still connected. */
  readonly onEnd?: () => Promise<unknown>;
}

async function delivery(stack: Stack, { burst, text, seconds, paused = 0, onEnd }: Load): Promise<number[]> {
  const db = openDatabase({ url: stack.databaseUrl, poolSize: 2, program: "airlock-bench", onError: console.warn });
  const taskId = await startTask(db);
  const committed: number[] = [];
  const latencies: number[] = [];
  let measuring = false;
  const subscribers = await openSubscribers(
    SUBSCRIBERS,
    { url: stack.url, key: stack.key, query: FOLLOW, variables: { taskId } },
    (event) => {
      const at = committed[Number(/^id: (\d+)/.exec(event)?.[1])];
      if (measuring && at !== undefined) latencies.push(clock() - at);
    },
  );
  const events = Array.from({ length: burst }, () => newEvent("task.output", { stream: "stdout", text }));
  const nothing = { outputChars: 0, calls: [], updates: [], approvals: [], activeMs: 0, end: null, parking: null };
  const from = clock();
  for (let bursts = 1; clock() - from < WARM_UP_MS + seconds * 1_000; bursts += 1) {
    if (!measuring && clock() - from > WARM_UP_MS) {
      measuring = true;
      subscribers.pause(paused);
    }
    const [written] = await writeSegments(db, [{ taskId, fence: 1, events, ...nothing }]);
    if (!written) throw new Error("the task was taken away");
    const { seq } = written;
    const now = clock();
    for (let i = 0; i < burst; i += 1) committed[seq - i] = measuring ? now : Number.NaN;
    await stack.bus.publish(topics.events, [[taskId, seq]]);
    await sleep(Math.max(0, from + bursts * BURST_MS - clock()));
  }
  await sleep(1_000);
  await onEnd?.();
  subscribers.close();
  await db.destroy();
  return latencies.filter((latency) => !Number.isNaN(latency));
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
