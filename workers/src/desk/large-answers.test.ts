import { giveBack, listArtifactsOf, listEvents } from "@airlock/shared/db";
import { expect, it } from "vitest";
import { useCalledTools } from "../../testing/called-tools.ts";

const tools = useCalledTools();

const CODE = "return (await tools.bank.dump({ amount: 1 })).artifact.name";

const artifacts = async (id: string) =>
  ((await listArtifactsOf(tools.db, [id])).get(id) ?? []).map(({ name, size }) => [name, size]);

it("an answer too large for the journal is an artifact, told of before the call's end", async () => {
  const id = await tools.submit(CODE);
  await tools.segment(id);
  expect(await tools.worker.task(id)).toMatchObject({ status: "SUCCEEDED", output: '"call-0.json"' });
  expect(await artifacts(id)).toEqual([["call-0.json", 2 ** 21 + 2]]);
  const events = await listEvents(tools.db, id, { after: 0, limit: 100 });
  expect(events.map(({ type, data }) => [type, data]).slice(-3, -1)).toEqual([
    ["artifact.added", '{"name":"call-0.json"}'],
    ["tool.completed", '{"index":0}'],
  ]);
});

it("a worker that has lost the task leaves none, and the next one leaves one", async () => {
  const id = await tools.submit(CODE);
  tools.meanwhile = async () => {
    tools.meanwhile = async () => undefined;
    await giveBack(tools.db, { taskId: id, fence: 1 }, "worker drains");
  };
  await tools.segment(id);
  expect(await artifacts(id)).toEqual([]);
  await tools.segment(id);
  await tools.decide(id, { answer: '{"outcome":"did_not"}' });
  await tools.segment(id);
  expect(await artifacts(id)).toHaveLength(1);
  expect(await tools.worker.task(id)).toMatchObject({ status: "SUCCEEDED" });
});
