import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import type { GuestChannel, GuestOutcome, Lease, LeaseRequest, SandboxProvider } from "../src/sandboxes/port.ts";
import { removeFolder } from "./remove-folder.ts";
import { givenOf, walkFolder } from "./walk-folder.ts";

/**
 * A work area without walls: JavaScript in a plain child process whose folder is walked when it has ended. It shows what
 * happens to files on their way in and out, and nothing else; there are no tools, no parking, no limits.
 */
export function createFolderProvider(): SandboxProvider {
  return {
    name: "folder",
    capabilities: { languages: ["JAVASCRIPT"], keptBy: "replay", workArea: true, outlivesWorker: false },
    config: z.unknown(),
    probe: async () => ({
      available: true,
      isolation: { provider: "folder", level: "none", enforced: {} },
      image: null,
    }),
    acquire,
    leftovers: async () => [],
    destroy: async () => undefined,
    close: async () => undefined,
  };
}

async function acquire({ files }: LeaseRequest): Promise<Lease> {
  const root = await mkdtemp(path.join(tmpdir(), "airlock-folder-"));
  for (const file of files) {
    const place = path.join(root, file.path);
    await mkdir(path.dirname(place), { recursive: true });
    await writeFile(place, file.content, { flag: "wx" });
  }
  const given = givenOf(files);
  let child: ChildProcess | null = null;
  return {
    start({ code }, channel, signal) {
      child = spawn(process.execPath, ["--input-type=module", "--eval", moduleOf(code)], {
        cwd: root,
        env: {},
        signal,
        killSignal: "SIGKILL",
        stdio: ["ignore", "pipe", "pipe"],
      });
      const ignore = (): void => undefined;
      return { outcome: outcomeOf(child, channel), settle: ignore, tick: ignore, goLive: ignore, park: ignore };
    },
    outputs: (bounds) => walkFolder(root, bounds, given),
    async release() {
      child?.kill("SIGKILL");
      await removeFolder(root);
    },
  };
}

/** The body of an async function whose imports are hoisted. */
function moduleOf(code: string): string {
  const lines = code.split("\n");
  const imports = lines.filter((line) => line.trimStart().startsWith("import "));
  const body = lines.filter((line) => !line.trimStart().startsWith("import "));
  return `${imports.join("\n")}\nawait (async () => {\n${body.join("\n")}\n})()`;
}

async function outcomeOf(child: ChildProcess, channel: GuestChannel): Promise<GuestOutcome> {
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.setEncoding("utf8").on("data", (text: string) => channel.output(stream, text));
  }
  child.on("error", () => undefined);
  const [exitCode] = (await once(child, "close")) as [number | null];
  if (exitCode === 0) return { kind: "returned", output: null };
  if (exitCode === null) return { kind: "cancelled" };
  return { kind: "failed", failure: { code: "GUEST_ERROR", message: `exit code ${exitCode}` }, exitCode };
}
