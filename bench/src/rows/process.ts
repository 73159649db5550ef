import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { DEFAULT_GUEST_LIMITS, DEFAULT_SANDBOX_LIMITS } from "@airlock/shared/domain";
import type { SandboxProvider } from "../../../workers/src/sandboxes/port.ts";
import { createProcessProvider } from "../../../workers/src/sandboxes/process/index.ts";
import { median, quantile } from "../statistics.ts";
import type { Row } from "../table.ts";

const run = promisify(execFile);
const BARE = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", process.execPath, "-e", "0"];

/** From asking for a sandbox to the first line that its program prints, beside Node in bare bubblewrap, in turns. */
export async function processRow(rounds: number): Promise<Row | null> {
  const provider = createProcessProvider();
  try {
    if (!(await provider.probe()).available) return null;
    const [starts, bare]: [number[], number[]] = [[], []];
    for (let i = 0; i < rounds; i += 1) {
      starts.push(await startToFirstLine(provider));
      const from = performance.now();
      await run("bwrap", BARE);
      bare.push(performance.now() - from);
    }
    return {
      name: "process: lease to first line, p50",
      figure: median(starts),
      bare: median(bare),
      unit: "ms",
      bar: 1.5,
      detail: `p99 ${quantile(starts, 0.99).toFixed(1)} ms; bare: bwrap … node -e 0`,
    };
  } finally {
    await provider.close();
  }
}

async function startToFirstLine(provider: SandboxProvider): Promise<number> {
  const from = performance.now();
  const about = { leaseId: randomUUID(), taskId: "bench", projectId: "bench", config: {}, files: [], layers: [] };
  const lease = await provider.acquire({ ...about, limits: DEFAULT_SANDBOX_LIMITS });
  const code = { language: "JAVASCRIPT", code: 'console.log("on")', input: null } as const;
  const world = { seed: "00", clockStart: 0, kept: null, live: true, limits: DEFAULT_GUEST_LIMITS };
  let took = Number.NaN;
  const ignore = (): void => {};
  const output = (): void => void (took = performance.now() - from);
  const channel = { output, dropped: ignore, call: ignore, idle: ignore };
  await lease.start({ ...code, ...world }, channel, new AbortController().signal).outcome;
  await lease.release();
  return took;
}
