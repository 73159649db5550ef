import { newId } from "@airlock/shared/contracts";
import { isOffered, registerWorker } from "@airlock/shared/db";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useCalledTools } from "../../testing/called-tools.ts";
import { createRegistry } from "../tools/registry.ts";

const tools = useCalledTools();

/** Without the default that the others fill in. */
const other = () => tools.registry({ input: z.strictObject({ amount: z.number() }) });
const offered = (tool: { path: string; version: string }, taskId: string) => isOffered(tools.db, tool, taskId, 60_000);

/** Approved for this worker's version of `bank.pay`. */
async function approved(): Promise<string> {
  const id = await tools.submit("return await tools.bank.pay({ amount: 1 })");
  await tools.segment(id);
  await tools.decide(id, {});
  return id;
}

async function anotherWorker(providers: readonly string[]): Promise<void> {
  const { path, version } = tools.registry().get("bank.pay") ?? { path: "", version: "" };
  const id = newId();
  const tool = `${path}@${version}`;
  await registerWorker(tools.db, { id, host: "test", version: "0", capacity: 1, providers, tools: [tool] });
}

async function waitOf(id: string): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from run_at - now())::double precision as seconds from outbox where task_id = ${id}
  `.execute(tools.db);
  return rows[0]?.seconds ?? null;
}

describe("an approved call whose version of the tool this worker has not", () => {
  it("is judged anew as it was sent, where only workers without the task's provider have it", async () => {
    await anotherWorker(["docker"]);
    const id = await approved();
    expect((await tools.calls(id))[0]?.input).toBe('{"amount":1,"currency":"EUR"}');
    await tools.segment(id, { tools: other(), isOffered: offered });
    expect(await tools.asked(id)).toMatchObject([{ kind: "TOOL_CALL", version: other().get("bank.pay")?.version }]);
    expect((await tools.calls(id))[0]?.input).toBe('{"amount":1}');
    await tools.decide(id, {});
    await tools.segment(id, { tools: other(), isOffered: offered });
    expect(tools.runs(id)).toMatchObject([{ input: { amount: 1 } }]);
  });

  it("waits for the worker that has it, longer each time, and is not lost however often that is", async () => {
    await anotherWorker(["isolate"]);
    const id = await approved();
    const waits: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      await tools.segment(id, { tools: other(), isOffered: offered });
      expect(await tools.calls(id)).toMatchObject([{ status: "WAITING" }]);
      expect(await tools.worker.task(id)).toMatchObject({ status: "QUEUED", losses: 0 });
      waits.push((await waitOf(id)) ?? 0);
    }
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect([waits[0] ?? 0, waits[6] ?? 0].map(Math.round)).toEqual([0, 13]);
    await tools.segment(id);
    expect(await tools.worker.task(id)).toMatchObject({ status: "SUCCEEDED" });
    expect(tools.runs(id)).toHaveLength(1);
  });
});

describe("a call of a tool that has not reached this worker yet", () => {
  const none = () => createRegistry([]);

  it("waits for a worker that has it, and is unknown only where nobody has", async () => {
    const id = await tools.submit("return await tools.bank.pay({ amount: 1 }).catch(({ code }) => code)");
    await anotherWorker(["isolate"]);
    await tools.segment(id, { tools: none(), isOffered: offered });
    expect(await tools.worker.task(id)).toMatchObject({ status: "QUEUED", losses: 0 });
    expect(await tools.calls(id)).toEqual([]);
    await tools.segment(id);
    expect(await tools.worker.task(id)).toMatchObject({ status: "PARKED" });

    const other = await tools.submit("return await tools.bank.gone({ amount: 1 }).catch(({ code }) => code)");
    await tools.segment(other, { tools: none(), isOffered: offered });
    expect(await tools.worker.task(other)).toMatchObject({ status: "SUCCEEDED", output: '"UNKNOWN_TOOL"' });
  });
});
