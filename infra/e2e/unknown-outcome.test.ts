import { afterAll, beforeAll, expect, it } from "vitest";
import { answer, askedOnce, deny } from "./decisions.ts";
import { describeOnEachBackend, type Rig, startRig } from "./rig.ts";
import { ended, look, oneTo, seqs, submit, until } from "./tasks.ts";

/** Makes calls that end, then one during which its worker is killed. */
const PROGRAM = `
  await tools.ledger.add({ line: "before" });
  try { return { got: await tools.ledger[input.tool]({ line: "during", gate: "open" }) } }
  catch (error) { return { code: error.code } }`;

describeOnEachBackend("a worker is killed with -9 while a call is running", (backend) => {
  let rig: Rig;
  const ids = new Map<string, string>();
  const runs = (name: string): unknown[] =>
    rig.ledger.entries(ids.get(name) ?? "").map(({ input, idempotencyKey }) => [input["line"], idempotencyKey]);
  const key = (name: string, index: number): string => `${ids.get(name)}/${index}`;

  beforeAll(async () => {
    rig = await startRig(backend);
    for (const name of ["happened", "did not", "fail", "denied", "idempotent", "cancelled"]) {
      const tool = name === "idempotent" ? "set" : "add";
      ids.set(name, await submit(rig.api, { code: PROGRAM, input: { tool } }));
    }
    for (const [name, id] of ids) {
      await until(rig.api, id, (task) => task.toolCalls[1]?.status === "STARTED" && runs(name).length === 2);
    }
    for (const worker of rig.fleet.workers) worker.kill("SIGKILL");
    rig.ledger.open("open");
    await rig.fleet.addWorker();
  });

  afterAll(() => rig.stop());

  const unknown = async (name: string) => {
    const id = ids.get(name) ?? "";
    const approval = await askedOnce(rig.api, id);
    const task = await look(rig.api, id);
    expect(approval).toMatchObject({ kind: "UNKNOWN_OUTCOME", toolCall: { index: 1, path: "ledger.add" } });
    expect(task.toolCalls.map(({ status }) => status)).toEqual(["SUCCEEDED", "UNKNOWN"]);
    return { id, approval };
  };

  it("an idempotent tool is run again, with the same key", async () => {
    const task = await ended(rig.api, ids.get("idempotent") ?? "");
    expect(task).toMatchObject({ status: "SUCCEEDED", output: { got: "wrote during" }, approvals: [], segments: 2 });
    const during = ["during", key("idempotent", 1)];
    expect(runs("idempotent")).toEqual([["before", key("idempotent", 0)], during, during]);
    expect(seqs(task)).toEqual(oneTo(task.events.length));
  });

  it("any other asks; it happened, with this result: the guest gets the result and nothing runs again", async () => {
    const { id, approval } = await unknown("happened");
    for (const wrong of ["happened", {}, { outcome: "maybe" }, { outcome: "did_not", result: 1 }]) {
      await expect(answer(rig.api, approval, wrong)).rejects.toMatchObject({ code: "BAD_INPUT" });
    }
    await answer(rig.api, approval, { outcome: "happened", result: { as: ["told"] } });
    expect(await ended(rig.api, id)).toMatchObject({ status: "SUCCEEDED", output: { got: { as: ["told"] } } });
    expect(runs("happened")).toHaveLength(2);
  });

  it("it did not happen: it runs, with the same key", async () => {
    const { id, approval } = await unknown("did not");
    await answer(rig.api, approval, { outcome: "did_not" });
    expect(await ended(rig.api, id)).toMatchObject({ status: "SUCCEEDED", output: { got: "wrote during" } });
    expect(runs("did not").slice(1)).toEqual(oneTo(2).map(() => ["during", key("did not", 1)]));
  });

  it("fail: the guest sees CALL_OUTCOME_UNKNOWN", async () => {
    const { id, approval } = await unknown("fail");
    await answer(rig.api, approval, { outcome: "fail" });
    expect(await ended(rig.api, id)).toMatchObject({ status: "SUCCEEDED", output: { code: "CALL_OUTCOME_UNKNOWN" } });
    expect(runs("fail")).toHaveLength(2);
  });

  it("denied instead of answered: it is not run again either", async () => {
    const { id, approval } = await unknown("denied");
    await deny(rig.api, approval);
    const task = await ended(rig.api, id);
    expect(task).toMatchObject({ output: { code: "CALL_OUTCOME_UNKNOWN" }, toolCalls: [{}, { status: "FAILED" }] });
    expect(runs("denied")).toHaveLength(2);
  });

  it("cancelled while it asks: the journal goes on to say that nobody knows", async () => {
    const { id, approval } = await unknown("cancelled");
    await rig.api("mutation ($id: ID!) { cancelTask(id: $id) { status } }", { id });
    const task = await look(rig.api, id);
    expect(task).toMatchObject({ status: "CANCELLED", approvals: [{ status: "CANCELLED" }] });
    expect(task.toolCalls.map(({ status }) => status)).toEqual(["SUCCEEDED", "UNKNOWN"]);
    await expect(answer(rig.api, approval, { outcome: "did_not" })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(runs("cancelled")).toHaveLength(2);
  });
});
