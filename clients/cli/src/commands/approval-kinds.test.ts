import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { TaskHandle } from "@airlock/client";
import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliRig, type CliUser, startCliRig } from "../../testing/cli-rig.ts";

/** Short periods, so that a lost worker is noticed within the test. */
const QUICK = { AIRLOCK_HEARTBEAT_MS: "300", AIRLOCK_LOST_AFTER_MS: "1500" };

describeNeeding("pty", "airlock approvals watch asks each kind of approval its own question", () => {
  /** Takes requests and never answers them. */
  let silent: Server;
  let rig: CliRig;
  let heard = 0;
  beforeAll(async () => {
    silent = createServer(() => (heard += 1));
    await new Promise<void>((resolve) => {
      silent.listen(0, "127.0.0.1", resolve);
    });
    rig = await startCliRig({ ...QUICK, AIRLOCK_HTTP_ALLOW: site() });
  });
  afterAll(async () => {
    await rig.stop();
    silent.closeAllConnections();
    silent.close();
  });

  const site = (): string => `127.0.0.1:${(silent.address() as AddressInfo).port}`;

  test("QUESTION: an answer that does not fit its schema is refused, and asked for again", async () => {
    const user = await rig.user();
    const code = "return await tools.human.ask({ question: 'Ship it?', schema: { type: 'boolean' } })";
    const task = await user.client.tasks.submit({ code });
    const terminal = user.terminal(["approvals", "watch"]);
    const menu = "[a]nswer  [d]eny  [s]kip  [q]uit:";
    expect(await terminal.until(menu)).toMatch(/asks a question through human\.ask[^]*Ship it\?/);
    terminal.type("a\r");
    await terminal.until("Answer (JSON, or plain text):");
    terminal.type("perhaps\r");
    await terminal.until("(BAD_INPUT)");
    await terminal.until(menu);
    terminal.type("a\r");
    await terminal.until("Answer (JSON, or plain text):");
    terminal.type("true\r");
    await terminal.until("APPROVED");
    expect(await task.result()).toBe(true);
    terminal.type("\u0003");
    expect(await terminal.exitCode).toBe(130);
  });

  test("BUDGET: approved it goes on, and asks again when that is used up; denied it fails", async () => {
    const user = await rig.user();
    const code = "for (let n = 0; ; n += 1) await tools.util.echo({ value: n })";
    const task = await user.client.tasks.submit({ code, maxToolCalls: 2 });
    const terminal = user.terminal(["approvals", "watch"]);
    for (const key of ["a", "d"]) {
      expect(await terminal.until("[a]pprove  [d]eny  [s]kip  [q]uit:")).toContain("has used up its calls");
      terminal.type(`${key}\r`);
      if (key === "d") {
        await terminal.until("Reason");
        terminal.type("that is enough\r");
      }
      await terminal.until(key === "a" ? "APPROVED" : "DENIED");
    }
    expect(await task.ended()).toMatchObject({ status: "FAILED", error: { code: "APPROVAL_DENIED" } });
    terminal.type("\u0003");
    expect(await terminal.exitCode).toBe(130);
  });

  test("UNKNOWN_OUTCOME: it happened, with this result; it did not; or the call fails", async () => {
    const user = await rig.user();
    const tasks = [await post(user), await post(user), await post(user)];
    await expect.poll(() => heard, { timeout: 50_000 }).toBe(3);
    for (const worker of rig.fleet.workers) worker.kill("SIGKILL");
    await rig.fleet.addWorker();
    for (const task of tasks) for await (const { type } of task.events()) if (type === "approval.requested") break;

    const terminal = user.terminal(["approvals", "watch"]);
    for (const key of ["h", "n", "f"]) {
      expect(await terminal.until("it [h]appened  it did [n]ot  [f]ail the call  [s]kip  [q]uit:")).toMatch(
        /does not know whether this took effect: http\.request[^]*"method": "POST"/,
      );
      terminal.type(`${key}\r`);
      if (key === "h") {
        await terminal.until("Its result (JSON, or plain text):");
        terminal.type('{"status": 201, "headers": {}, "body": ""}\r');
      }
      await terminal.until("APPROVED");
      // Run once more: nobody answers it this time either.
      if (key === "n") await expect.poll(() => heard, { timeout: 50_000 }).toBe(4);
    }
    terminal.type("\u0003");
    expect(await terminal.exitCode).toBe(130);
    const ends = await Promise.all(tasks.map((task) => task.get()));
    expect(ends.map(({ status }) => status).toSorted()).toEqual(["RUNNING", "SUCCEEDED", "SUCCEEDED"]);
    const outputs = ends.flatMap(({ output }) => (output === null ? [] : [output]));
    expect(outputs).toEqual(expect.arrayContaining([{ status: 201 }, { code: "CALL_OUTCOME_UNKNOWN" }]));
    await Promise.all(tasks.map((task) => task.cancel()));
  });

  /** A call that reaches its target and is not answered, in a project where nobody is asked before. */
  async function post(user: CliUser): Promise<TaskHandle> {
    await user.allow("http.request");
    const code = `
      try { return { status: (await tools.http.request({ method: "POST", url: input })).status } }
      catch (error) { return { code: error.code } }`;
    return user.client.tasks.submit({ code, input: `http://${site()}/` });
  }
});
