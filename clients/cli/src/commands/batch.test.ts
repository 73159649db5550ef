import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliRig, startCliRig } from "../../testing/cli-rig.ts";

let rig: CliRig;
beforeAll(async () => {
  rig = await startCliRig();
});
afterAll(() => rig.stop());

const jsonl = (tasks: readonly unknown[]): string => tasks.map((task) => `${JSON.stringify(task)}\n`).join("");
const doubles = (count: number) => Array.from({ length: count }, (_, n) => ({ code: "return input * 2", input: n }));

describe.concurrent("airlock batch", () => {
  test("runs every line, says how it went, and 0 means that all succeeded", async () => {
    const { airlock } = await rig.user();
    const file = await rig.file("doubles.jsonl", jsonl(doubles(120)));
    const ended = await airlock(["batch", file, "--label", "doubles"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toMatch(/^batch \S+: 120 of 120 succeeded\n$/);
  });

  test("one that fails is told, and the exit code is 1; --json has the tasks in the order of the lines", async () => {
    const { airlock } = await rig.user();
    const input = jsonl([...doubles(3), { code: "throw new Error('no')" }]);
    const told = await airlock(["batch", "-"], { input });
    expect(told.code).toBe(1);
    expect(told.stdout).toContain("3 of 4 succeeded, 1 failed");
    const { stdout, code } = await airlock(["batch", "-", "--json"], { input });
    expect(code).toBe(1);
    const { tasks, ...batch } = JSON.parse(stdout) as { tasks: { output: unknown; status: string }[] };
    expect(batch).toMatchObject({ total: 4, done: true });
    expect(tasks.map(({ output }) => output)).toEqual([0, 2, 4, null]);
  });

  test("--detach prints the id and leaves", async () => {
    const { airlock, client } = await rig.user();
    const { stdout } = await airlock(["batch", "-", "--detach"], { input: jsonl(doubles(2)) });
    expect(await client.batches.handle(stdout.trim()).ended()).toMatchObject({ total: 2 });
  });

  test("all faulty lines are named at once, and nothing is submitted", async () => {
    const { airlock, json } = await rig.user();
    const ended = await airlock(["batch", "-"], { input: '{"code": "return 1"}\n{oops\n\n{"input": 1}\n' });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain("line 2:");
    expect(ended.stderr).toContain("line 4: a task is an object with `code`");
    expect(await json(["tasks", "ls"])).toEqual([]);
    expect((await airlock(["batch", "-"], { input: "\n" })).code).toBe(2);
  });
});

describeNeeding("pty", "airlock batch on a terminal", () => {
  test("draws a bar while the tasks run", async () => {
    const user = await rig.user();
    const file = await rig.file("few.jsonl", jsonl(doubles(5)));
    const terminal = user.terminal(["batch", file]);
    await terminal.until("[");
    await terminal.until("/5");
    await terminal.until("5 of 5 succeeded");
    expect(await terminal.exitCode).toBe(0);
  });
});
