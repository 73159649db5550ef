import type { Approval } from "@airlock/client";
import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliRig, type CliUser, startCliRig } from "../../testing/cli-rig.ts";

let rig: CliRig;
beforeAll(async () => {
  rig = await startCliRig();
});
afterAll(() => rig.stop());

const ECHO = `
  try { return { got: await tools.util.echo({ value: input }) } }
  catch (error) { return { code: error.code, message: error.message } }`;

/** A task that waits at a call of util.echo, or at what the code asks for. */
async function held(
  user: CliUser,
  input: unknown,
  code = ECHO,
): Promise<{ approval: Approval; result: () => Promise<unknown> }> {
  await user.hold("util.echo");
  const handle = await user.client.tasks.submit({ code, input });
  for await (const { type } of handle.events()) if (type === "task.parked") break;
  for await (const approval of user.client.approvals.list("PENDING")) {
    if (approval.task.id === handle.id) return { approval, result: () => handle.result() };
  }
  throw new Error("nothing is pending");
}

describe.concurrent("airlock approvals", () => {
  test("ls lists what is pending, with its input", async () => {
    const user = await rig.user();
    const { approval } = await held(user, "a\u202Eb");
    const { stdout } = await user.airlock(["approvals", "ls"]);
    expect(stdout).toContain(`${approval.id}\tPENDING\tTOOL_CALL\t`);
    expect(stdout).toContain('{"value":"a<U+202E>b"}');
    expect(await user.json(["approvals", "ls"])).toMatchObject([
      { id: approval.id, toolCall: { input: { value: "a\u202Eb" } } },
    ]);
    expect(await user.json(["approvals", "ls", "--status", "denied"])).toEqual([]);
    expect(await user.json(["approvals", "ls", "--status", "all"])).toHaveLength(1);
  });

  test("approve and deny need to know what they are about where nobody can look", async () => {
    const user = await rig.user();
    const { approval, result } = await held(user, 1);
    for (const verb of ["approve", "deny"]) {
      const blind = await user.airlock(["approvals", verb, approval.id]);
      expect(blind).toMatchObject({ code: 2, stdout: "" });
      expect(blind.stderr).toContain("--hash");
      const other = await user.airlock(["approvals", verb, approval.id, "--hash", "0".repeat(64)]);
      expect(other.code).toBe(2);
    }
    const ended = await user.airlock(["approvals", "approve", approval.id, "--hash", approval.inputHash]);
    expect(ended).toMatchObject({ code: 0, stdout: `APPROVED ${approval.id} util.echo\n` });
    expect(await result()).toEqual({ got: 1 });
    const again = await user.airlock(["approvals", "approve", approval.id, "--yes"]);
    expect(again.code).toBe(5);
    expect(again.stderr).toContain("NOT_FOUND");
  });

  test("approve can edit", async () => {
    const user = await rig.user();
    const { approval, result } = await held(user, 1);
    const args = ["approvals", "approve", approval.id, "--yes", "--edit", '{"value": 2}', "--reason", "fine"];
    expect(await user.json(args)).toMatchObject({ status: "APPROVED", reason: "fine", editedInput: { value: 2 } });
    expect(await result()).toEqual({ got: 2 });
  });

  test("approve can remember", async () => {
    const user = await rig.user();
    const { approval, result } = await held(user, 1);
    await user.airlock(["approvals", "approve", approval.id, "--yes", "--remember", "project"]);
    expect(await result()).toEqual({ got: 1 });
    expect(await (await user.client.tasks.submit({ code: ECHO, input: 1 })).result()).toEqual({ got: 1 });
  });

  test("deny tells the program why", async () => {
    const user = await rig.user();
    const { approval, result } = await held(user, 1);
    await user.airlock(["approvals", "deny", approval.id, "-y", "--reason", "not today"]);
    expect(await result()).toMatchObject({
      code: "APPROVAL_DENIED",
      message: expect.stringContaining("not today") as string,
    });
  });

  test("answer takes JSON, or plain text", async () => {
    const user = await rig.user();
    const { approval, result } = await held(user, null, "return await tools.human.ask({ question: 'Colour?' })");
    expect((await user.airlock(["approvals", "answer", approval.id, "blue"])).code).toBe(0);
    expect(await result()).toBe("blue");
  });

  test("watch in a pipe tells every change as a line", async () => {
    const user = await rig.user();
    const { approval } = await held(user, 1);
    const decide = () =>
      user.client.approvals.decide({ id: approval.id, inputHash: approval.inputHash, decision: "DENY" });
    const { stdout } = await user.airlock(["approvals", "watch", "--json"], {
      onOutput: (text, kill) => {
        if (text.split("\n").length === 2) void decide();
        else kill("SIGINT");
      },
    });
    const changes = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Approval);
    expect(changes.map(({ id, status }) => [id, status])).toEqual([
      [approval.id, "PENDING"],
      [approval.id, "DENIED"],
    ]);
  });
});

describeNeeding("pty", "airlock approvals on a terminal", () => {
  test("approve shows the whole input, marks what cannot be seen, and takes only a yes", async () => {
    const user = await rig.user();
    const value = {
      to: "a\u202Etxt.exe",
      note: "x\u200B\u00A0y\u001B[31m\u0000",
      long: "z".repeat(5_000),
      last: "the end",
    };
    const { approval, result } = await held(user, value);
    const first = user.terminal(["approvals", "approve", approval.id]);
    const card = await first.until("Approve? [y/N]");
    expect(card).toContain("util.echo");
    expect(card).toContain(approval.inputHash);
    expect(card).toContain('"to": "a<U+202E>txt.exe"');
    expect(card).toContain(String.raw`"note": "x<U+200B><U+00A0>y\u001b[31m\u0000"`);
    expect(card.replaceAll(/\s/g, "")).toContain("z".repeat(5_000));
    expect(card).toContain("the end");
    expect(card).toContain("U+202E right-to-left override (1)");
    expect(first.shown()).not.toMatch(/[\u202E\u200B\u00A0]/);
    first.type("\r");
    expect(await first.exitCode).toBe(1);

    const second = user.terminal(["approvals", "approve", approval.id]);
    await second.until("Approve? [y/N]");
    second.type("y\r");
    expect(await second.exitCode).toBe(0);
    expect(await result()).toEqual({ got: value });
  });

  test("deny asks too, and Ctrl-C leaves everything as it is", async () => {
    const user = await rig.user();
    const { approval, result } = await held(user, 1);
    const first = user.terminal(["approvals", "deny", approval.id]);
    await first.until("Deny? [y/N]");
    first.type("\u0003");
    expect(await first.exitCode).toBe(130);
    const second = user.terminal(["approvals", "deny", approval.id]);
    await second.until("Deny? [y/N]");
    second.type("y\r");
    expect(await second.exitCode).toBe(0);
    expect(await result()).toMatchObject({ code: "APPROVAL_DENIED" });
  });

  test("watch asks about one after the other: approve, deny with a reason, edit, skip, quit", async () => {
    const user = await rig.user();
    const approved = await held(user, "first");
    const terminal = user.terminal(["approvals", "watch"], { EDITOR: "sed -i s/third/changed/" });
    expect(await terminal.until("[a]pprove  [d]eny  [e]dit  [s]kip  [q]uit:")).toContain('"value": "first"');
    terminal.type("a\r");
    await terminal.until(`APPROVED ${approved.approval.id}`);
    expect(await approved.result()).toEqual({ got: "first" });

    const denied = await held(user, "second");
    await terminal.until("[q]uit:");
    terminal.type("d\r");
    await terminal.until("Reason");
    terminal.type("not today\r");
    await terminal.until(`DENIED ${denied.approval.id}`);
    expect(await denied.result()).toMatchObject({ message: expect.stringContaining("not today") as string });

    const edited = await held(user, "third");
    await terminal.until("[q]uit:");
    terminal.type("e\r");
    expect(await terminal.until("Approve with this input instead? [y/N]")).toContain('"value": "changed"');
    terminal.type("y\r");
    await terminal.until(`APPROVED ${edited.approval.id}`);
    expect(await edited.result()).toEqual({ got: "changed" });

    const skipped = await held(user, "fourth");
    await terminal.until("[q]uit:");
    terminal.type("s\r");
    const last = await held(user, "fifth");
    expect(await terminal.until("[q]uit:")).toContain('"value": "fifth"');
    terminal.type("q\r");
    expect(await terminal.exitCode).toBe(0);
    const left = await user.json<Approval[]>(["approvals", "ls"]);
    expect(left.map(({ id }) => id)).toEqual([last.approval.id, skipped.approval.id]);
  });

  test("watch takes a question away that somebody else has decided, and asks the kinds their own questions", async () => {
    const user = await rig.user();
    const { approval } = await held(user, "theirs");
    const terminal = user.terminal(["approvals", "watch"]);
    await terminal.until("[q]uit:");
    await user.client.approvals.decide({ id: approval.id, inputHash: approval.inputHash, decision: "DENY" });
    await terminal.until(`DENIED ${approval.id}`);

    const question = await held(user, null, "return await tools.human.ask({ question: 'Colour?' })");
    expect(await terminal.until("[a]nswer  [d]eny  [s]kip  [q]uit:")).toContain("Colour?");
    terminal.type("a\r");
    await terminal.until("Answer (JSON, or plain text):");
    terminal.type("blue\r");
    await terminal.until(`APPROVED ${question.approval.id}`);
    expect(await question.result()).toBe("blue");
    terminal.type("\u0003");
    expect(await terminal.exitCode).toBe(130);
  });
});
