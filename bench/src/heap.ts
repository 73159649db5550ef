import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";

/** The environment with which a program tells its heap. */
export function heapEnv(dir: string): Record<string, string> {
  const probe = fileURLToPath(new URL("./heap-probe.ts", import.meta.url));
  return { NODE_OPTIONS: `--expose-gc --import=${probe}`, AIRLOCK_BENCH_HEAP: dir };
}

/** Bytes in use after a collection. */
export async function heapOf(pid: number, dir: string): Promise<number> {
  const file = path.join(dir, String(pid));
  await rm(file, { force: true });
  process.kill(pid, "SIGUSR2");
  for (;;) {
    await sleep(50);
    const text = await readFile(file, "utf8").catch(() => "");
    if (text !== "") return Number(text);
  }
}
