import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { BINARY, runBinary } from "../testing/binary.ts";
import { COMMANDS } from "./commands/index.ts";

describe.concurrent("the command line", () => {
  test("its help lists every command", async () => {
    const { code, stdout } = await runBinary(["--help"]);
    expect(code).toBe(0);
    for (const { name, summary } of COMMANDS) {
      expect(stdout).toContain(`  ${name}`);
      expect(stdout).toContain(summary);
    }
    expect((await runBinary([])).stdout).toBe(stdout);
  });

  test.each(COMMANDS.map(({ name }) => name))("airlock %s has help of its own", async (name) => {
    const { code, stdout, stderr } = await runBinary([...name.split(" "), "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`usage: airlock ${name}`);
    expect(stdout).toContain("--json");
    expect((await runBinary(["help", ...name.split(" ")])).stdout).toBe(stdout);
  });

  test.each([
    [["frobnicate"], 'no command "frobnicate"'],
    [["tasks", "frobnicate"], 'no command "tasks frobnicate"'],
    [["tasks"], "usage: airlock tasks"],
    [["tasks", "ls", "--frobnicate"], "Unknown option '--frobnicate'"],
    [["tasks", "ls", "extra"], '"extra" is too much'],
    [["tasks", "show"], "<id> is missing"],
    [["tasks", "ls"], "no key for http://127.0.0.1:4001"],
    [["tasks", "ls", "--url", "nowhere"], "no address of a gateway"],
  ])("%j is wrong: exit code 2, and a sentence that says so", async (args, message) => {
    const env = { AIRLOCK_HOME: "/nonexistent" };
    const { code, stdout, stderr } = await runBinary(args, { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  test("with --json a fault is JSON, too", async () => {
    const { stderr } = await runBinary(["tasks", "show", "--json"]);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "USAGE" } });
  });

  test("a reader that leaves early is no failure", async () => {
    const child = spawn("sh", ["-c", `"$0" "$1" --help | head -c 1; exit 0`, process.execPath, BINARY]);
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    await new Promise((resolve) => {
      child.once("close", resolve);
    });
    expect(stderr).toBe("");
  });
});
