import { sql } from "kysely";
import { z } from "zod";
import { beforeEach, describe, expect, it } from "vitest";
import { useCalledTools } from "../../testing/called-tools.ts";
import { LeaseError } from "../sandboxes/port.ts";

const tools = useCalledTools();
beforeEach(() => {
  tools.meanwhile = async () => undefined;
});

const statuses = async (id: string) => (await tools.calls(id)).map(({ status }) => status);
const names = (id: string) => tools.runs(id).map(({ tool }) => tool);

/** Parked with a kept guest for one call, which was then approved: the next claim journals it as started. */
async function approved(): Promise<string> {
  const id = await tools.submit("return await tools.bank.pay({ amount: 1 })");
  await tools.segment(id);
  await tools.decide(id, {});
  return id;
}

describe("a call that the claim has journaled as started", () => {
  it("is not one that may have run, where no sandbox could be had for it", async () => {
    const id = await approved();
    const acquire = async (): Promise<never> => {
      expect(await statuses(id)).toEqual(["STARTED"]);
      throw new LeaseError("no room");
    };
    await tools.segment(id, {}, { acquire });
    expect([(await tools.worker.task(id)).status, await statuses(id)]).toEqual(["QUEUED", ["WAITING"]]);
    await tools.segment(id);
    expect(await tools.worker.task(id)).toMatchObject({ status: "SUCCEEDED" });
    expect(names(id)).toEqual(["pay"]);
  });

  it("is not one that may have run, where the worker drains before there is a sandbox", async () => {
    const id = await approved();
    const { provisioning, running } = tools.worker.context;
    const provide = () => {
      running.stop([id], "drain");
      return { kind: "stopped" } as const;
    };
    await tools.segment(id, { provisioning: { ...provisioning, provide } });
    expect([(await tools.worker.task(id)).status, await statuses(id)]).toEqual(["QUEUED", ["WAITING"]]);
  });

  it("ends as cancelled, where its task fails before it has a sandbox", async () => {
    const id = await approved();
    const { provisioning } = tools.worker.context;
    const failure = { code: "PROVISION_FAILED", message: "no such package" } as const;
    const provide = () => ({ kind: "failed", failure }) as const;
    await tools.segment(id, { provisioning: { ...provisioning, provide } });
    expect([(await tools.worker.task(id)).status, await statuses(id)]).toEqual(["FAILED", ["CANCELLED"]]);
  });

  it("is only one that the kept guest waits for: others wait until the guest makes them again", async () => {
    const id = await tools.submit(`
      await tools.bank.pay({ amount: 1 });
      let done = false;
      const second = tools.bank.pay({ amount: 2 }).then(() => { done = true });
      // Keeps it from parking.
      while (!done) await new Promise((resolve) => setTimeout(resolve, 50));`);
    await tools.segment(id);
    await tools.decide(id, {});
    const segment = tools.segment(id);
    await expect.poll(() => tools.asked(id), { timeout: 20_000 }).toHaveLength(1);
    tools.worker.context.running.stop([id], "drain");
    await segment;
    await tools.decide(id, {});
    await tools.loseAfterClaim(id);
    expect(await statuses(id)).toEqual(["SUCCEEDED", "WAITING"]);
    await tools.segment(id);
    expect(names(id)).toEqual(["pay", "pay"]);
    expect(await tools.asked(id)).toEqual([]);
  });

  it("is journaled as started again, when it was held for another version of its tool meanwhile", async () => {
    const id = await tools.submit(`
      return await Promise.all([tools.bank.pay({ amount: 1 }), tools.bank.set({ amount: 2 })])`);
    await tools.segment(id);
    await tools.decide(id, {});
    await tools.decide(id, {});
    const gate = Promise.withResolvers<void>();
    const seen: unknown[] = [];
    tools.meanwhile = async ({ db, taskId }, { tool }) => {
      if (tool === "set") return gate.promise;
      const { rows } = await sql`select status from tool_calls where task_id = ${taskId} and index = 0`.execute(db);
      seen.push(...rows);
      gate.resolve();
    };
    const other = tools.registry({ output: z.string() });
    const onlyPay = { ...other, get: (path: string) => (path === "bank.pay" ? other : tools.registry()).get(path) };
    const segment = tools.segment(id, { tools: onlyPay });
    await expect.poll(() => tools.asked(id), { timeout: 20_000 }).toHaveLength(1);
    await tools.decide(id, {});
    tools.worker.context.running.look([id]);
    await segment;
    expect(seen).toEqual([{ status: "STARTED" }]);
  });
});
