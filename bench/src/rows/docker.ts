import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { DEFAULT_GUEST_LIMITS, DEFAULT_SANDBOX_LIMITS } from "@airlock/shared/domain";
import { createDockerProvider, type SandboxProvider } from "@airlock/workers/docker";
import { median } from "../statistics.ts";
import type { Row } from "../table.ts";

const run = promisify(execFile);
/** As the containers of guests have them. */
const LIMITS = ["--network=none", "--memory=512m", "--memory-swap=512m", "--pids-limit=128", "--cpus=0.5"];
/** The pool fills itself meanwhile, as it does between tasks. */
const REST_MS = 3_000;

/** From asking for a sandbox to the program's end, beside the engine's own client with the same image and limits. */
export async function dockerRows(socket: string, image: string, rounds: number): Promise<Row[]> {
  const docker = (...args: string[]) => run("docker", ["--host", `unix://${socket}`, ...args]);
  const [warm, cold] = [1, 0].map((size) => createDockerProvider({ socket, image, warm: size }));
  const [times, bareTimes] = [
    { warm: [] as number[], cold: [] as number[] },
    { warm: [] as number[], cold: [] as number[] },
  ];
  const name = `airlock-bench-${randomUUID()}`;
  await docker("run", "--detach", "--rm", ...LIMITS, "--name", name, image, "sleep", "3600");
  try {
    await taskMs(warm as SandboxProvider);
    for (let i = 0; i < rounds; i++) {
      await sleep(REST_MS);
      times.warm.push(await taskMs(warm as SandboxProvider));
      await sleep(REST_MS);
      bareTimes.warm.push(await elapsed(() => docker("exec", name, "node", "-e", "0")));
      times.cold.push(await taskMs(cold as SandboxProvider));
      bareTimes.cold.push(
        await elapsed(() => docker("run", ...LIMITS, "--name", `${name}-${i}`, image, "node", "-e", "0")),
      );
      await docker("rm", `${name}-${i}`);
    }
  } finally {
    await docker("rm", "--force", name);
    await Promise.all([warm?.close(), cold?.close()]);
  }
  const row = (kind: "warm" | "cold", bare: string, bar: number): Row => ({
    name: `docker, ${kind}: sandbox asked for to program ended, p50`,
    figure: median(times[kind]),
    bare: median(bareTimes[kind]),
    unit: "ms",
    bar,
    detail: `${rounds} rounds; bare: ${bare}`,
  });
  return [
    row("warm", "docker exec … node -e 0", 1.5),
    row("cold", "docker run … node -e 0, same image and limits", 1.3),
  ];
}

async function taskMs(provider: SandboxProvider): Promise<number> {
  const lease = await elapsedOf(() =>
    provider.acquire({
      leaseId: randomUUID(),
      taskId: "bench",
      projectId: "bench",
      language: "JAVASCRIPT",
      config: {},
      limits: DEFAULT_SANDBOX_LIMITS,
      files: [],
      layers: [],
    }),
  );
  const ignore = () => {};
  const channel = { output: ignore, dropped: ignore, call: ignore, idle: ignore };
  const ran = await elapsedOf(() => {
    const rest = { input: null, seed: "00", clockStart: Date.now(), kept: null, live: true };
    const program = { language: "JAVASCRIPT" as const, code: "", limits: DEFAULT_GUEST_LIMITS, ...rest };
    return lease.value.start(program, channel, new AbortController().signal).outcome;
  });
  await lease.value.release();
  if (ran.value.kind !== "returned") throw new Error(`the program did not return: ${JSON.stringify(ran.value)}`);
  return lease.ms + ran.ms;
}

async function elapsedOf<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const from = performance.now();
  const value = await work();
  return { value, ms: performance.now() - from };
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  return (await elapsedOf(work)).ms;
}
