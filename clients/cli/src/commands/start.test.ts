import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "@airlock/shared/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BINARY, runBinary } from "../../testing/binary.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), "airlock-cli-start-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

test("airlock start comes up, the other commands find its key by themselves, and SIGTERM ends it with 0", async () => {
  const env = { AIRLOCK_PORT: String(await freePort()), AIRLOCK_HOME: path.join(home, "data"), HOME: home };
  const child = spawn(process.execPath, [BINARY, "start"], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  try {
    await expect.poll(() => output, { timeout: 50_000 }).toContain("Airlock is ready");
    const ended = await runBinary(["run", "-"], { env, input: "return 6 * 7" });
    expect(ended).toEqual({ code: 0, stdout: "42\n", stderr: "" });
  } finally {
    child.kill("SIGTERM");
  }
  expect(await exited).toEqual([0, null]);
});
