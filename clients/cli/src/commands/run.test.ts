import type { Task, TaskEvent } from "@airlock/client";
import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliRig, startCliRig } from "../../testing/cli-rig.ts";

let rig: CliRig;
beforeAll(async () => {
  rig = await startCliRig();
});
afterAll(() => rig.stop());

const lines = (text: string): string[] => text.trimEnd().split("\n");

describe.concurrent("airlock run", () => {
  test("shows the output as it comes, then the result; SUCCEEDED is 0", async () => {
    const { airlock } = await rig.user();
    const file = await rig.file("sum.ts", "console.log('adds'); console.error('oh'); return input.a + (1 as number)");
    const ended = await airlock(["run", file, "--input", '{"a": 41}']);
    expect(ended).toEqual({ code: 0, stdout: "adds\n42\n", stderr: "oh\n" });
  });

  test("takes the program from the standard input, and the input from a file", async () => {
    const { airlock } = await rig.user();
    const input = await rig.file("input.json", '{"a": [1, 2]}');
    const ended = await airlock(["run", "-", "--wait", "--input", `@${input}`], {
      input: "console.log('x'); return input",
    });
    expect(ended).toEqual({ code: 0, stdout: '{"a":[1,2]}\n', stderr: "" });
  });

  test("each outcome has its exit code", async () => {
    const { airlock } = await rig.user();
    const failed = await airlock(["run", "-"], { input: "throw new Error('no luck')" });
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("FAILED");
    expect(failed.stderr).toContain("no luck");
    expect(failed.stderr).toContain("(GUEST_ERROR)");
    const late = await airlock(["run", "-", "--timeout", "300"], { input: "for (;;);" });
    expect(late.code).toBe(4);
    expect(late.stderr).toContain("(TIMEOUT)");
  });

  test("Ctrl-C cancels the task, and CANCELLED is 3", async () => {
    const { airlock } = await rig.user();
    const input = "console.log('up'); await tools.human.ask({ question: 'Now what?' })";
    const ended = await airlock(["run", "-"], { input, onOutput: (_, kill) => kill("SIGINT") });
    expect(ended).toMatchObject({ code: 3, stdout: "up\n" });
    expect(ended.stderr).toContain("cancels the task");
  });

  test("says how to decide when the task waits for a person", async () => {
    const user = await rig.user();
    const ended = user.airlock(["run", "-"], { input: "return await tools.human.ask({ question: 'Colour?' })" });
    for await (const approval of user.client.approvals.watch()) {
      await user.client.approvals.answer(approval.id, "blue");
      expect((await ended).stderr).toContain(`waits for a person (${approval.id})`);
      break;
    }
    expect(await ended).toMatchObject({ code: 0, stdout: '"blue"\n' });
  });

  test("--watch tells every event; with --json one a line, and the task last", async () => {
    const { airlock } = await rig.user();
    const input = "return await tools.util.echo({ value: 7 })";
    const told = await airlock(["run", "-", "--watch"], { input });
    expect(told.stdout).toBe("7\n");
    for (const word of ["task.queued", "tool.called", "path=util.echo", "task.succeeded"])
      expect(told.stderr).toContain(word);

    const { stdout } = await airlock(["run", "-", "--watch", "--json"], { input });
    const events = lines(stdout).map((line) => JSON.parse(line) as TaskEvent & Task);
    expect(events.pop()).toMatchObject({ status: "SUCCEEDED", output: 7 });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  });

  test("--detach prints the id and leaves; labels, session and language arrive", async () => {
    const { airlock, json, client } = await rig.user();
    const options = ["--label", "kind=sum", "--label", "run=7", "--session", "s1", "--language", "javascript"];
    const { stdout, code } = await airlock(["run", "-", "--detach", ...options], { input: "return 1" });
    expect(code).toBe(0);
    const task = await client.tasks.handle(stdout.trim()).ended();
    expect(task).toMatchObject({ labels: { kind: "sum", run: "7" }, session: "s1", language: "JAVASCRIPT" });
    expect(await json(["run", "-", "-d"], { input: "return 1" })).toEqual({ id: expect.any(String) as string });
  });

  test("--no-replay arrives, and is refused where nothing is run again", async () => {
    const { airlock } = await rig.user();
    const ended = await airlock(["run", "-", "--no-replay"], { input: "return 1" });
    expect(ended).toMatchObject({ code: 5, stdout: "" });
    expect(ended.stderr).toContain("replayable: is false");
  });

  test("--json prints the task and keeps the exit code", async () => {
    const { airlock } = await rig.user();
    const { stdout, code } = await airlock(["run", "-", "--json"], {
      input: "console.log('x'); throw new Error('no')",
    });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: "FAILED", error: { code: "GUEST_ERROR" } });
  });

  test("what is wrong with the call is said, with exit code 2", async () => {
    const { airlock } = await rig.user();
    const wrong: [string[], string][] = [
      [["run"], "<file|-> is missing"],
      [["run", "/nonexistent/x.ts"], "cannot read /nonexistent/x.ts"],
      [["run", "-", "--input", "{"], "--input must be JSON"],
      [["run", "-", "--label", "x"], "name=value"],
      [["run", "-", "--language", "cobol"], "--language is one of"],
      [["run", "-", "--timeout", "soon"], "--timeout must be a whole number"],
      [["run", "-", "--detach", "--wait"], "--detach"],
      [["run", "-", "extra"], '"extra" is too much'],
      [["run", "-", "--frobnicate"], "Unknown option '--frobnicate'"],
    ];
    for (const [args, message] of wrong) {
      const ended = await airlock(args);
      expect(ended.stderr).toContain(message);
      expect(ended.code).toBe(2);
    }
  });

  test("what the gateway refuses is said with its code, with exit code 5", async () => {
    const { airlock } = await rig.user();
    const refused = await airlock(["run", "-", "--env", "moon"], { input: "return 1" });
    expect(refused.code).toBe(5);
    expect(refused.stderr).toContain("(BAD_INPUT)");
    const packages = ["--dependency", "@team/deep@^1", "--dependency", "left"];
    const isolated = await airlock(["run", "-", ...packages], { input: "return 1" });
    expect(isolated.stderr).toContain("these take them: process");
    const stranger = await airlock(["tasks", "ls", "--json", "--key", "nobody-knows-me"]);
    expect(stranger.code).toBe(5);
    expect(JSON.parse(stranger.stderr)).toMatchObject({ error: { code: "UNAUTHENTICATED", retryable: false } });
  });
});

describeNeeding("pty", "airlock run on a terminal", () => {
  const HOSTILE = "console.log('a\\u001b[2Jb\\u202ec\\td'); return 'x\\u200by'";

  test("a guest's escape sequences do not reach the terminal; in a pipe its bytes are its own", async () => {
    const user = await rig.user();
    const file = await rig.file("hostile.ts", HOSTILE);
    const terminal = user.terminal(["run", file]);
    expect(await terminal.exitCode).toBe(0);
    expect(await terminal.until("c\td")).toContain("a<U+001B>[2Jb<U+202E>c\td");
    await terminal.until(String.raw`"x\u200by"`);
    expect(terminal.shown()).not.toContain("\u001B[2J");
    const { stdout } = await user.airlock(["run", file]);
    expect(stdout).toContain("a\u001B[2Jb\u202Ec\td\n");
  });
});
