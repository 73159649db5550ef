import type { Task, TaskSummary } from "@airlock/client";
import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliRig, type CliUser, startCliRig } from "../../testing/cli-rig.ts";

let rig: CliRig;
beforeAll(async () => {
  rig = await startCliRig();
});
afterAll(() => rig.stop());

async function finished(user: CliUser, code: string, labels = {}): Promise<Task> {
  return (await user.client.tasks.submit({ code, labels })).ended();
}

/** Parked at a question, with one line written. */
async function waiting(user: CliUser): Promise<string> {
  const handle = await user.client.tasks.submit({
    code: "console.log('before'); console.log(await tools.human.ask({ question: 'Go on?' })); return 'done'",
  });
  for await (const { type } of handle.events()) if (type === "task.parked") break;
  return handle.id;
}

describe.concurrent("airlock tasks", () => {
  test("ls lists the newest first, filtered, tab-separated for programs", async () => {
    const user = await rig.user();
    const first = await finished(user, "return 1", { kind: "good" });
    const second = await finished(user, "throw new Error('a\\tb')", { kind: "bad" });
    const { stdout, code } = await user.airlock(["tasks", "ls"]);
    expect(code).toBe(0);
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t"));
    expect(rows.map(([id, status]) => [id, status])).toEqual([
      [second.id, "FAILED"],
      [first.id, "SUCCEEDED"],
    ]);
    expect(rows[0]?.[4]).toContain("a<U+0009>b");
    const ids = async (...args: string[]) =>
      (await user.json<TaskSummary[]>(["tasks", "ls", ...args])).map(({ id }) => id);
    expect(await ids("--status", "failed")).toEqual([second.id]);
    expect(await ids("--label", "kind=good")).toEqual([first.id]);
    expect(await ids("--limit", "1")).toEqual([second.id]);
    expect(await ids("--search", "throw error")).toEqual([second.id]);
    expect(await ids("--after", "2001-01-01", "--before", first.finishedAt as string)).toEqual([first.id]);
    expect((await user.airlock(["tasks", "ls", "--after", "tomorrow"])).code).toBe(2);
    expect((await user.airlock(["tasks", "ls", "--status", "odd"])).code).toBe(2);
  });

  test("show tells all that is known", async () => {
    const user = await rig.user();
    const task = await finished(user, "await tools.util.echo({ value: 1 }); return { a: 1 }");
    const { stdout } = await user.airlock(["tasks", "show", task.id]);
    for (const part of [task.id, "SUCCEEDED", "wasm (isolate)", '{"a":1}', "util.echo"]) expect(stdout).toContain(part);
    expect(await user.json(["tasks", "show", task.id])).toMatchObject({ id: task.id, output: { a: 1 } });
    const unknown = await user.airlock(["tasks", "show", "01a1ee5a-4def-7768-994b-e3e0854bdb9b"]);
    expect(unknown).toMatchObject({ code: 5, stdout: "" });
    expect(unknown.stderr).toContain("NOT_FOUND");
  });

  test("logs prints what there is and ends; --events and --json tell more", async () => {
    const user = await rig.user();
    const id = await waiting(user);
    expect(await user.airlock(["tasks", "logs", id])).toEqual({ code: 0, stdout: "before\n", stderr: "" });
    expect((await user.airlock(["tasks", "logs", id, "--events"])).stderr).toContain("task.parked");
    const { stdout } = await user.airlock(["tasks", "logs", id, "--json", "--after", "2"]);
    expect(JSON.parse(stdout.split("\n")[0] ?? "")).toMatchObject({ seq: 3, taskId: id });
  });

  test("logs -f goes on to the end", async () => {
    const user = await rig.user();
    const id = await waiting(user);
    const ended = user.airlock(["tasks", "logs", "-f", id], {
      onOutput: (stdout) => {
        if (stdout === "before\n") void answer();
      },
    });
    const answer = async (): Promise<void> => {
      for await (const approval of user.client.approvals.list("PENDING"))
        await user.client.approvals.answer(approval.id, "after");
    };
    expect(await ended).toMatchObject({ code: 0, stdout: "before\nafter\n" });
  });

  test("cancel ends one that waits, and leaves one that has ended as it is", async () => {
    const user = await rig.user();
    const [parked, done] = [await waiting(user), await finished(user, "return 1")];
    const { stdout, code } = await user.airlock(["tasks", "cancel", parked, done.id]);
    expect(code).toBe(0);
    expect(stdout).toBe(`${parked}\tCANCELLED\n${done.id}\tSUCCEEDED\n`);
    expect(await user.json(["tasks", "cancel", parked])).toEqual({ id: parked, status: "CANCELLED" });
  });

  test("retry makes a new task of an ended one", async () => {
    const user = await rig.user();
    const old = await finished(user, "return 'again'");
    const { stdout } = await user.airlock(["tasks", "retry", old.id]);
    expect(await user.client.tasks.get(stdout.trim())).toMatchObject({ retryOf: { id: old.id } });
    expect(await user.airlock(["tasks", "retry", "--wait", old.id])).toMatchObject({ code: 0, stdout: '"again"\n' });
    expect(await user.json(["tasks", "retry", old.id])).toEqual({ id: expect.any(String) as string });
  });
});

describeNeeding("pty", "airlock tasks on a terminal", () => {
  test("ls has a head and colours; NO_COLOR takes the colours away", async () => {
    const user = await rig.user();
    await finished(user, "return 1");
    const coloured = user.terminal(["tasks", "ls"]);
    expect(await coloured.exitCode).toBe(0);
    await coloured.until("ID ");
    await coloured.until("SUCCEEDED");
    expect(coloured.shown()).toContain("\u001B[32mSUCCEEDED");
    const plain = user.terminal(["tasks", "ls"], { NO_COLOR: "1" });
    expect(await plain.exitCode).toBe(0);
    await plain.until("SUCCEEDED");
    expect(plain.shown()).not.toContain("\u001B[");
  });

  test("an empty list says so", async () => {
    const user = await rig.user();
    const terminal = user.terminal(["tasks", "ls"]);
    await terminal.until("no tasks");
    expect(await terminal.exitCode).toBe(0);
  });
});
