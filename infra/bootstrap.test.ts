import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "airlock-bootstrap-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function bootstrap(source: string, ...args: string[]): Promise<ChildProcess> {
  const script = path.join(folder, "script.ts");
  await writeFile(script, source);
  const env = { PATH: process.env["PATH"], HOME: folder, CI: "true" };
  return spawn(process.execPath, [path.join(import.meta.dirname, "bootstrap.mjs"), script, ...args], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
}

test("the script runs on Node 24 with its arguments, and its exit code comes back", async () => {
  const child = await bootstrap(
    "console.log(process.version, ...process.argv.slice(2)); process.exit(7 as number)",
    "a b",
    "--flag",
  );
  const [[output], [code]] = await Promise.all([
    once(child.stdout as NodeJS.ReadableStream, "data"),
    once(child, "exit"),
  ]);
  expect(String(output)).toMatch(/^v24\..* a b --flag\n$/);
  expect(code).toBe(7);
});

test("a signal is forwarded and the script decides how it ends", async () => {
  const child = await bootstrap(
    'process.on("SIGTERM", () => process.exit(3)); setInterval(() => undefined, 1000); console.log("up");',
  );
  await once(child.stdout as NodeJS.ReadableStream, "data");
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([3, null]);
});

test("a script that dies of a signal gives the shell's code for it", async () => {
  const child = await bootstrap('process.kill(process.pid, "SIGKILL")');
  expect(await once(child, "exit")).toEqual([137, null]);
});
