import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const fileIn = (dir: string): string => path.join(dir, "marks");

/** The environment with which a worker has the tool `bench.mark`. */
export function marksEnv(dir: string): Record<string, string> {
  return {
    AIRLOCK_TOOLS: fileURLToPath(new URL("./mark-tool.ts", import.meta.url)),
    AIRLOCK_BENCH_MARKS: fileIn(dir),
  };
}

/** When the guest came to its mark, in milliseconds since 1970. */
export async function markOf(id: string, dir: string): Promise<number> {
  for (;;) {
    const text = await readFile(fileIn(dir), "utf8").catch(() => "");
    const line = text.split("\n").find((each) => each.startsWith(`${id} `));
    if (line !== undefined) return Number(line.slice(id.length + 1));
    await sleep(2);
  }
}
