import type { Api } from "@airlock/shared/testing";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answer, approve, asked, askedOnce, cancel, deny, pendingOf, setPolicy } from "./decisions.ts";
import { describeOnEachBackend, type Rig, startRig, type Tenant } from "./rig.ts";
import { ended, isEnded, look, oneTo, seqs, submit, submitBatch, tasksOf, type TaskView, until } from "./tasks.ts";

/** Asks once, and tells what it got. */
const SEND = `
  const call = tools.ledger.send(input ?? { to: "ann" });
  try { return { got: await call, meta: call.meta } }
  catch (error) { return { code: error.code, message: error.message, meta: error.meta } }`;

const types = (task: TaskView): string[] => task.events.map(({ type }) => type);

describeOnEachBackend("approvals", (backend) => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await startRig(backend);
  });

  afterAll(() => rig.stop());

  const sent = (taskId: string): unknown[] => rig.ledger.entries(taskId).map(({ input }) => input);
  /** A task that waits for one approval, in a project of its own. */
  const held = async (fields: Record<string, unknown> = {}) => {
    const tenant = await rig.tenant();
    const id = await submit(tenant.api, { code: SEND, ...fields });
    return { ...tenant, id, approval: await askedOnce(tenant.api, id) };
  };

  describe.concurrent("one call, one decision", () => {
    it("approved: exactly what was shown runs, once, and the events tell the story in order", async () => {
      const { api, id, approval } = await held();
      expect(approval).toMatchObject({ kind: "TOOL_CALL", toolCall: { index: 0, path: "ledger.send" } });
      expect(approval.toolCall?.input).toEqual({ to: "ann", copies: 1 });
      expect(sent(id)).toEqual([]);
      await expect(approve(api, { ...approval, inputHash: `0${approval.inputHash.slice(1)}x` })).rejects.toMatchObject({
        code: "CONFLICT",
      });
      expect(await approve(api, approval, { reason: "fine" })).toMatchObject({
        status: "APPROVED",
        decidedBy: "owner",
      });
      const task = await ended(api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", segments: 2 });
      expect(task.output).toMatchObject({ got: { sentTo: "ann", copies: 1 }, meta: { approval: { reason: "fine" } } });
      expect(sent(id)).toEqual([{ to: "ann", copies: 1 }]);
      expect(types(task)).toEqual([
        "task.queued",
        "task.started",
        "tool.called",
        "approval.requested",
        "task.parked",
        "approval.decided",
        "task.resumed",
        "tool.completed",
        "task.succeeded",
      ]);
      expect(seqs(task)).toEqual(oneTo(9));
    });

    it("denied with a reason: the guest sees the code and the reason, and the tool is not called", async () => {
      const { api, id, approval } = await held();
      await deny(api, approval, { reason: "not on a Friday" });
      const task = await ended(api, id);
      expect(task.output).toMatchObject({
        code: "APPROVAL_DENIED",
        message: expect.stringContaining("not on a Friday"),
      });
      expect(task.toolCalls).toMatchObject([{ status: "DENIED", approval: { status: "DENIED" } }]);
      expect(sent(id)).toEqual([]);
    });

    it("denied and not caught: the task fails with APPROVAL_DENIED", async () => {
      const { api } = await rig.tenant();
      const id = await submit(api, { code: "return await tools.ledger.send({ to: 'ann' })" });
      await deny(api, await askedOnce(api, id));
      expect(await ended(api, id)).toMatchObject({ status: "FAILED", error: { code: "APPROVAL_DENIED" } });
    });

    it("approved with an edited input: that one runs, and guest and journal can see both", async () => {
      const { api, id, approval } = await held();
      for (const editedInput of [{ to: 7 }, { copies: 2 }, { to: "bob", more: 1 }, "bob"]) {
        await expect(approve(api, approval, { editedInput })).rejects.toMatchObject({ code: "BAD_INPUT" });
      }
      const edited = { to: "bob" };
      await approve(api, approval, { editedInput: edited });
      const task = await ended(api, id);
      expect(task.output).toMatchObject({
        got: { sentTo: "bob", copies: 1 },
        meta: { index: 0, approval: { editedInput: edited, decidedBy: "owner" } },
      });
      expect(sent(id)).toEqual([{ to: "bob", copies: 1 }]);
      expect(task.toolCalls).toMatchObject([
        { input: { to: "ann", copies: 1 }, inputHash: approval.inputHash, approval: { editedInput: edited } },
      ]);
      expect(task.approvals).toMatchObject([{ status: "APPROVED", editedInput: edited }]);
    });

    it("decided twice: the second is told who was first, and nothing runs twice", async () => {
      const { api, id, approval, key } = await held();
      const bob = await key("bob", ["approve"]);
      await approve(api, approval);
      await expect(deny(bob, approval)).rejects.toMatchObject({
        code: "CONFLICT",
        message: expect.stringContaining("APPROVED by owner"),
      });
      await ended(api, id);
      await expect(approve(bob, approval)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(sent(id)).toHaveLength(1);
    });

    it("an approval is of one call: the next call with the same input is asked about anew", async () => {
      const { api } = await rig.tenant();
      const code = "await tools.ledger.send({ to: 'x' }); await tools.ledger.send({ to: 'x' }); return 'both'";
      const id = await submit(api, { code });
      const first = await askedOnce(api, id);
      await approve(api, first);
      const second = await askedOnce(api, id);
      expect([second.id !== first.id, second.inputHash]).toEqual([true, first.inputHash]);
      expect(sent(id)).toHaveLength(1);
      await approve(api, second);
      expect(await ended(api, id)).toMatchObject({ output: "both", segments: 3 });
      expect(sent(id)).toHaveLength(2);
    });

    it("a key may not decide on what it submitted itself, unless the project allows it", async () => {
      const tenant = await rig.tenant({ selfApproval: false });
      const id = await submit(tenant.api, { code: SEND });
      const approval = await askedOnce(tenant.api, id);
      await expect(approve(tenant.api, approval)).rejects.toMatchObject({ code: "FORBIDDEN" });
      await approve(await tenant.key("other", ["approve"]), approval);
      expect(await ended(tenant.api, id)).toMatchObject({ output: { meta: { approval: { decidedBy: "other" } } } });
    });

    it("decided while the program still runs: it goes on in the same segment", async () => {
      const { api } = await rig.tenant();
      const code = `
        let done = false;
        const sent = tools.ledger.send({ to: "ann" }).then((got) => { done = true; return got });
        while (!done) await new Promise((resolve) => setTimeout(resolve, 100));
        return await sent;`;
      const id = await submit(api, { code });
      const running = await until(api, id, (task) => pendingOf(task).length === 1);
      expect(running.status).toBe("RUNNING");
      for (const approval of pendingOf(running)) await approve(api, approval);
      const task = await ended(api, id);
      expect(task).toMatchObject({ output: { sentTo: "ann" }, segments: 1 });
      expect(types(task)).not.toContain("task.parked");
      expect(sent(id)).toHaveLength(1);
    });
  });

  describe.concurrent("remember", () => {
    const TWICE = `
      const codes = [];
      for (const to of input) codes.push(await tools.ledger.send({ to }).then(() => "sent", (error) => error.code));
      return codes;`;
    const start = (api: Api, to: readonly string[], more: object = {}) =>
      submit(api, { code: TWICE, input: to, ...more });
    /** Whether the task runs through without a question. */
    const passes = async (api: Api, to: string, more: object = {}): Promise<boolean> => {
      const task = await until(api, await start(api, [to], more), ({ status }) => /^(PARKED|SUCCEEDED)$/.test(status));
      return task.status === "SUCCEEDED";
    };

    it("for the task: the same input is not asked about again, another input and another task are", async () => {
      const { api } = await rig.tenant();
      const id = await start(api, ["a", "a", "b"]);
      await approve(api, await askedOnce(api, id), { remember: "TASK" });
      const next = await askedOnce(api, id);
      expect(next.toolCall).toMatchObject({ index: 2, input: { to: "b" } });
      await approve(api, next);
      expect(await ended(api, id)).toMatchObject({ output: ["sent", "sent", "sent"], segments: 3 });
      expect(await passes(api, "a")).toBe(false);
    });

    it("for the session, whatever the input: its tasks pass, others are asked about", async () => {
      const { api } = await rig.tenant();
      const id = await start(api, ["a", "b"], { session: "s" });
      await approve(api, await askedOnce(api, id), { remember: "SESSION", rememberAnyInput: true });
      expect(await ended(api, id)).toMatchObject({ output: ["sent", "sent"], segments: 2 });
      expect(await passes(api, "c", { session: "s" })).toBe(true);
      expect(await passes(api, "c", { session: "t" })).toBe(false);
      expect(await passes(api, "c")).toBe(false);
    });

    it("for the project: every task with that input passes, also one that waits already", async () => {
      const { api } = await rig.tenant();
      const [first, waiting, other] = await Promise.all([["a"], ["a"], ["b"]].map((to) => start(api, to)));
      const approval = await askedOnce(api, first ?? "");
      const same = await askedOnce(api, waiting ?? "");
      const left = await askedOnce(api, other ?? "");
      await approve(api, approval, { remember: "PROJECT" });
      const tasks = await Promise.all([first, waiting].map((id) => ended(api, id ?? "")));
      expect(tasks.map(({ output }) => output)).toEqual([["sent"], ["sent"]]);
      expect(tasks[1]?.approvals).toMatchObject([{ id: same.id, status: "CANCELLED", reason: "superseded" }]);
      expect(pendingOf(await look(api, other ?? ""))).toMatchObject([{ id: left.id }]);
      expect(await passes(api, "a")).toBe(true);
    });

    it("a denial: the same input is denied from then on, without a question", async () => {
      const { api } = await rig.tenant();
      const id = await start(api, ["a", "a"]);
      await deny(api, await askedOnce(api, id), { remember: "TASK" });
      expect(await ended(api, id)).toMatchObject({ output: ["APPROVAL_DENIED", "TOOL_DENIED"], segments: 2 });
      expect(sent(id)).toEqual([]);
    });
  });

  describe.concurrent("what is over is over: a late decision is a CONFLICT and the tool is not called", () => {
    const refused = async (api: Api, id: string, approval: Parameters<typeof approve>[1]): Promise<void> => {
      await expect(approve(api, approval)).rejects.toMatchObject({ code: "CONFLICT" });
      await expect(deny(api, approval)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(sent(id)).toEqual([]);
    };

    it("after the task was cancelled, which ends its approvals with it", async () => {
      const { api, id, approval } = await held();
      await cancel(api, id);
      const task = await look(api, id);
      expect(task).toMatchObject({ status: "CANCELLED", error: { code: "CANCELLED" } });
      expect(task.approvals).toMatchObject([{ status: "CANCELLED" }]);
      expect(task.toolCalls).toMatchObject([{ status: "CANCELLED" }]);
      expect(types(task).at(-1)).toBe("task.cancelled");
      await refused(api, id, approval);
    });

    it("after a denial", async () => {
      const { api, id, approval } = await held();
      await deny(api, approval);
      await refused(api, id, approval);
      await ended(api, id);
      await refused(api, id, approval);
    });

    it("after its time was up: the guest sees APPROVAL_EXPIRED and goes on", async () => {
      const { api } = await rig.tenant();
      await setPolicy(api, "ledger.send", "REQUIRED", { approvalMs: 700 });
      const id = await submit(api, { code: SEND });
      const task = await ended(api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", output: { code: "APPROVAL_EXPIRED" } });
      expect(task.toolCalls).toMatchObject([{ status: "EXPIRED", approval: { status: "EXPIRED" } }]);
      const [approval] = task.approvals;
      if (approval) await refused(api, id, approval);
    });

    it("not caught, an expiry fails the task with APPROVAL_EXPIRED, which a retry can help", async () => {
      const { api } = await rig.tenant();
      await setPolicy(api, "ledger.*", "REQUIRED", { approvalMs: 300 });
      const id = await submit(api, { code: "return await tools.ledger.send({ to: 'x' })" });
      expect(await ended(api, id)).toMatchObject({ status: "FAILED", error: { code: "APPROVAL_EXPIRED" } });
      expect(sent(id)).toEqual([]);
    });
  });

  describe.concurrent("human.ask", () => {
    const ASK = "try { return { got: await tools.human.ask(input) } } catch (error) { return { code: error.code } }";
    const schema = {
      type: "object",
      properties: { ship: { type: "boolean" }, when: { type: "string", enum: ["now", "later"] } },
      required: ["ship"],
      additionalProperties: false,
    };
    const question = async (tenant: Tenant, input: unknown) => {
      const id = await submit(tenant.api, { code: ASK, input });
      return { id, approval: await askedOnce(tenant.api, id) };
    };

    it("with a schema: only an answer that fits is taken, and the guest gets exactly it", async () => {
      const tenant = await rig.tenant();
      const { id, approval } = await question(tenant, { question: "Ship it?", schema });
      expect(approval).toMatchObject({ kind: "QUESTION", toolCall: { input: { question: "Ship it?", schema } } });
      for (const wrong of ["yes", {}, { ship: 1 }, { ship: true, when: "never" }, { ship: true, x: 1 }]) {
        await expect(answer(tenant.api, approval, wrong)).rejects.toMatchObject({ code: "BAD_INPUT" });
      }
      await expect(approve(tenant.api, approval)).rejects.toMatchObject({ code: "BAD_INPUT" });
      expect(await answer(tenant.api, approval, { ship: true, when: "later" })).toMatchObject({ status: "APPROVED" });
      await expect(answer(tenant.api, approval, { ship: false })).rejects.toMatchObject({ code: "CONFLICT" });
      expect(await ended(tenant.api, id)).toMatchObject({
        output: { got: { ship: true, when: "later" } },
        segments: 2,
      });
    });

    it("without one takes any JSON; denied it rejects; with a schema that is none the guest is told at once", async () => {
      const tenant = await rig.tenant();
      const free = await question(tenant, { question: "Anything?" });
      await answer(tenant.api, free.approval, [null, { "": "\0" }]);
      expect(await ended(tenant.api, free.id)).toMatchObject({ output: { got: [null, { "": "\0" }] } });
      const denied = await question(tenant, { question: "May I?" });
      await deny(tenant.api, denied.approval, { reason: "no" });
      expect(await ended(tenant.api, denied.id)).toMatchObject({ output: { code: "APPROVAL_DENIED" } });
      const id = await submit(tenant.api, { code: ASK, input: { question: "?", schema: { type: "nonsense" } } });
      expect(await ended(tenant.api, id)).toMatchObject({ output: { code: "BAD_TOOL_INPUT" }, segments: 1 });
    });
  });

  it("many at once by a filter: the same tool and the same input across a batch, and nothing else", async () => {
    const { api } = await rig.tenant();
    const tasks = oneTo(12).map((n) => ({ code: SEND, input: { to: n <= 8 ? "same" : `other ${n}` } }));
    const batch = await submitBatch(api, tasks);
    const outside = await submit(api, { code: SEND, input: { to: "same" } });
    const ids = (await tasksOf(api, batch)).map(({ id }) => id);
    const approvals = await Promise.all(ids.map((id) => askedOnce(api, id)));
    await askedOnce(api, outside);
    const decideMany = async (filter: object, decision: string) => {
      const { decideApprovals } = await api<{
        decideApprovals: { id: string; errorCode: string | null; approval: { status: string } | null }[];
      }>(
        `mutation ($filter: ApprovalFilter, $decision: Decision) {
          decideApprovals(filter: $filter, decision: $decision, reason: "all") { id errorCode approval { status } } }`,
        { filter: { batch, ...filter }, decision },
      );
      return decideApprovals;
    };
    const some = await decideMany({ toolPath: "ledger.send", inputHash: approvals[0]?.inputHash }, "APPROVE");
    const decided = some.map(({ id, errorCode, approval }) => [id, errorCode, approval?.status].join());
    const wanted = approvals.slice(0, 8).map(({ id }) => [id, null, "APPROVED"].join());
    expect(decided.toSorted()).toEqual(wanted.toSorted());
    const rest = await decideMany({}, "DENY");
    expect(rest.map(({ approval }) => approval?.status)).toEqual(oneTo(4).map(() => "DENIED"));
    const ends = await Promise.all(ids.map((id) => ended(api, id)));
    expect(ends.map(({ output }) => (output as { code?: string }).code ?? "sent")).toEqual([
      ...oneTo(8).map(() => "sent"),
      ...oneTo(4).map(() => "APPROVAL_DENIED"),
    ]);
    expect(ids.map((id) => sent(id).length)).toEqual([...oneTo(8).map(() => 1), ...oneTo(4).map(() => 0)]);
    expect((await look(api, outside)).status).toBe("PARKED");
  });

  describe.concurrent("a budget of calls", () => {
    const COUNT = `
      const got = [];
      for (let i = 0; i < 7; i++) got.push(await tools.kv.increment({ key: "n" }).catch((error) => error.code));
      return got;`;

    it("parks and asks beyond maxToolCalls; an approval lets it make as many again", async () => {
      const { api } = await rig.tenant();
      const id = await submit(api, { code: COUNT, maxToolCalls: 3 });
      const first = await askedOnce(api, id);
      expect([first.kind, first.toolCall]).toEqual(["BUDGET", null]);
      expect((await look(api, id)).toolCalls.filter(({ status }) => status === "SUCCEEDED")).toHaveLength(3);
      await approve(api, first);
      const second = await askedOnce(api, id);
      expect((await look(api, id)).toolCalls.filter(({ status }) => status === "SUCCEEDED")).toHaveLength(6);
      await approve(api, second);
      const task = await ended(api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", output: oneTo(7), segments: 3 });
    });

    it("denied: the call rejects with APPROVAL_DENIED and takes no effect, and so does the next", async () => {
      const { api } = await rig.tenant();
      const id = await submit(api, { code: COUNT, maxToolCalls: 5 });
      await deny(api, await askedOnce(api, id));
      await deny(api, await askedOnce(api, id));
      expect(await ended(api, id)).toMatchObject({ output: [1, 2, 3, 4, 5, "APPROVAL_DENIED", "APPROVAL_DENIED"] });
    });

    it("approved while the program still runs counts as much as approved while it is parked", async () => {
      const { api } = await rig.tenant();
      const code = `
        let done = false;
        const ticks = (async () => { while (!done) await new Promise((resolve) => setTimeout(resolve, 100)) })();
        const got = [];
        for (let i = 0; i < 6; i++) got.push(await tools.kv.increment({ key: "n" }));
        done = true; await ticks;
        return got;`;
      const id = await submit(api, { code, maxToolCalls: 3 });
      for (const approval of pendingOf(await until(api, id, (task) => pendingOf(task).length === 1))) {
        await approve(api, approval);
      }
      const task = await until(api, id, (task) => task.status === "SUCCEEDED" || pendingOf(task).length > 0);
      expect(task).toMatchObject({ status: "SUCCEEDED", output: oneTo(6), segments: 1 });
    });
  });

  describe.concurrent("policy changes while a call waits", () => {
    it("to AUTO: it runs at once, unasked", async () => {
      const { api, id, approval } = await held();
      await setPolicy(api, "ledger.*", "AUTO");
      const task = await ended(api, id);
      expect(task.output).toMatchObject({ got: { sentTo: "ann" } });
      expect(task.approvals).toMatchObject([{ id: approval.id, status: "CANCELLED", reason: "superseded" }]);
      expect(sent(id)).toHaveLength(1);
      await expect(approve(api, approval)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(sent(id)).toHaveLength(1);
    });

    it("to AUTO and back, again and again: a rule that holds no longer never asks", async () => {
      const { api } = await rig.tenant();
      for (let round = 0; round < 8; round += 1) {
        await setPolicy(api, "ledger.add", "REQUIRED");
        const id = await submit(api, { code: `return await tools.ledger.add({ line: "${round}" })` });
        await askedOnce(api, id);
        await setPolicy(api, "ledger.add", "AUTO");
        const task = await until(api, id, (task) => isEnded(task) || task.approvals.length > 1);
        expect(task).toMatchObject({ status: "SUCCEEDED", output: `wrote ${round}` });
      }
    });

    it("to DENY: it rejects with TOOL_DENIED", async () => {
      const { api, id, approval } = await held();
      await setPolicy(api, "ledger.send", "DENY");
      const task = await ended(api, id);
      expect(task.output).toMatchObject({ code: "TOOL_DENIED" });
      expect(task.approvals).toMatchObject([{ id: approval.id, status: "CANCELLED", reason: "superseded" }]);
      expect(sent(id)).toEqual([]);
    });

    it("elsewhere, or to what it was: the same approval waits on, and decides", async () => {
      const { api, id, approval } = await held();
      await setPolicy(api, "kv.*", "DENY");
      await setPolicy(api, "ledger.send", "REQUIRED");
      await setPolicy(api, "*", "AUTO");
      const task = await look(api, id);
      expect(task).toMatchObject({ status: "PARKED", segments: 1 });
      expect(task.approvals).toMatchObject([{ id: approval.id, status: "PENDING" }]);
      await approve(api, approval);
      expect(await ended(api, id)).toMatchObject({ output: { got: { sentTo: "ann" } }, segments: 2 });
    });

    it("removed: the tool's own default holds, and lets it run", async () => {
      const { api } = await rig.tenant();
      const policy = await setPolicy(api, "ledger.add", "REQUIRED");
      const id = await submit(api, { code: "return await tools.ledger.add({ line: 'x' })" });
      await askedOnce(api, id);
      await api("mutation ($id: ID!) { removeToolPolicy(id: $id) }", { id: policy });
      expect(await ended(api, id)).toMatchObject({ output: "wrote x" });
    });
  });

  it("parallel calls pend together, and decisions that come together are taken together", async () => {
    const { api } = await rig.tenant();
    const code = `
      const calls = input.map((to) => tools.ledger.send({ to }).then(({ sentTo }) => sentTo, (error) => error.code));
      return await Promise.all(calls);`;
    const to = oneTo(10).map((n) => `p${n}`);
    const id = await submit(api, { code, input: to });
    const approvals = await asked(api, id, 10);
    expect(approvals.map(({ toolCall }) => toolCall?.index)).toEqual(oneTo(10).map((n) => n - 1));
    await Promise.all(approvals.map((approval, i) => (i % 2 === 0 ? approve(api, approval) : deny(api, approval))));
    const task = await ended(api, id);
    expect(task.output).toEqual(to.map((name, i) => (i % 2 === 0 ? name : "APPROVAL_DENIED")));
    expect(sent(id)).toHaveLength(5);
    expect(seqs(task)).toEqual(oneTo(task.events.length));
  });

  if (backend === "Postgres and Redis")
    it("expires also where Redis has forgotten its job", async () => {
      const { api } = await rig.tenant();
      await setPolicy(api, "ledger.send", "REQUIRED", { approvalMs: 1_500 });
      const id = await submit(api, { code: SEND });
      await askedOnce(api, id);
      const client = new Redis(rig.redis?.url ?? "");
      await client.flushall();
      client.disconnect();
      const task = await ended(api, id);
      expect(task).toMatchObject({ status: "SUCCEEDED", output: { code: "APPROVAL_EXPIRED" } });
      expect(sent(id)).toEqual([]);
    });
});
