import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import type { Machine } from "./machine.ts";

/** Unpacks in the machine; slowly, files are there in part for a while. */
export async function writeFiles(machine: Machine, archive: Buffer, into: string, slowMs: number): Promise<boolean> {
  // Block by block: a whole record would be awaited before anything is written.
  const tar = machine.run({ cmd: "tar", args: ["-x", "-f", "-", "-b", "1", "-C", into], cwd: "/" });
  const ended = once(tar, "close") as Promise<[number | null]>;
  tar.stdin?.on("error", () => {});
  tar.stderr?.resume();
  tar.stdout?.resume();
  const bytes = gunzipSync(archive);
  if (slowMs > 0) {
    // In the middle of the first file, behind its header.
    tar.stdin?.write(bytes.subarray(0, 512 + Math.min(512, bytes.length - 512)));
    await sleep(slowMs);
    tar.stdin?.end(bytes.subarray(1024));
  } else tar.stdin?.end(bytes);
  const [code] = await ended;
  return code === 0;
}
