import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientRig, startClientRig } from "../testing/index.ts";
import { type Approval, type Batch, createClient, type TaskEvent } from "./index.ts";

let rig: ClientRig;
beforeAll(async () => {
  rig = await startClientRig();
});
afterAll(() => rig.stop());

async function take<T>(stream: AsyncIterable<T>, isLast: (item: T) => boolean = () => false): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) {
    items.push(item);
    if (isLast(item)) break;
  }
  return items;
}

describe.concurrent("against a real gateway and worker", () => {
  test("a task's result, its events and itself", async () => {
    const { client } = await rig.tenant();
    const handle = await client.tasks.submit<number>({
      code: "console.log('hello', input.name); return input.n + 1",
      input: { name: "world", n: 41 },
      labels: { kind: "sum" },
    });
    const result: number = await handle.result();
    expect(result).toBe(42);
    const events: TaskEvent[] = await take(handle.events());
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    expect(events.find(({ type }) => type === "task.output")?.data).toMatchObject({ text: "hello world\n" });
    expect(events.at(-1)?.type).toBe("task.succeeded");
    expect((await take(handle.events({ after: 2 })))[0]?.seq).toBe(3);
    expect(await client.tasks.get(handle.id)).toMatchObject({ status: "SUCCEEDED", labels: { kind: "sum" } });
    expect(await client.tasks.get("01a1ee5a-4def-7768-994b-e3e0854bdb9b")).toBeNull();
  });

  test("a failed task rejects with its own code", async () => {
    const { client } = await rig.tenant();
    const handle = await client.tasks.submit({ code: "throw new Error('no luck')" });
    await expect(handle.result()).rejects.toMatchObject({
      name: "TaskFailedError",
      code: "GUEST_ERROR",
      retryable: false,
      taskId: handle.id,
      message: expect.stringContaining("no luck") as string,
    });
    const again = await client.tasks.retry(handle.id);
    expect((await again.ended()).retryOf).toEqual({ id: handle.id });
  });

  test("events of a task that is under way arrive while it is", async () => {
    const { client, hold } = await rig.tenant();
    await hold("util.echo");
    const handle = await client.tasks.submit({
      code: "console.log('one'); return await tools.util.echo({ value: 7 })",
    });
    const soFar = await take(handle.events(), ({ type }) => type === "task.parked");
    expect(soFar.map(({ type }) => type)).toContain("task.output");
    const [approval] = await take(client.approvals.list("PENDING"));
    expect(approval).toMatchObject({ task: { id: handle.id }, toolCall: { path: "util.echo", input: { value: 7 } } });
    const { id, inputHash } = approval as Approval;
    const wrong = client.approvals.decide({ id, inputHash: "0".repeat(64), decision: "APPROVE" });
    await expect(wrong).rejects.toMatchObject({ name: "ApiError", code: "CONFLICT" });
    await client.approvals.decide({ id, inputHash, decision: "APPROVE" });
    const rest = await take(handle.events({ after: soFar.at(-1)?.seq }));
    expect(rest[0]?.seq).toBe(soFar.length + 1);
    expect(await handle.result()).toBe(7);
  });

  test("cancelling a parked task", async () => {
    const { client, hold } = await rig.tenant();
    await hold("util.echo");
    const handle = await client.tasks.submit({ code: "return await tools.util.echo({ value: 7 })" });
    await take(handle.events(), ({ type }) => type === "task.parked");
    expect(await handle.cancel()).toBe("CANCELLED");
    await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" });
  });

  test("approvals are watched: pending ones, new ones, and what became of them", async () => {
    const { client, hold } = await rig.tenant();
    await hold("util.echo");
    const code = "return await tools.util.echo({ value: input })";
    const first = await client.tasks.submit({ code, input: 1 });
    await take(first.events(), ({ type }) => type === "task.parked");
    const seen: string[] = [];
    for await (const approval of client.approvals.watch()) {
      seen.push(`${approval.status} ${JSON.stringify(approval.toolCall?.input)}`);
      if (seen.length === 1) await client.tasks.submit({ code, input: 2 });
      if (approval.status === "PENDING") {
        await client.approvals.decide({
          id: approval.id,
          inputHash: approval.inputHash,
          decision: "DENY",
          reason: "no",
        });
      }
      if (seen.length === 4) break;
    }
    expect(seen.sort()).toEqual([
      'DENIED {"value":1}',
      'DENIED {"value":2}',
      'PENDING {"value":1}',
      'PENDING {"value":2}',
    ]);
  });

  test("a question is answered", async () => {
    const { client } = await rig.tenant();
    const handle = await client.tasks.submit({ code: "return await tools.human.ask({ question: 'Which colour?' })" });
    await take(handle.events(), ({ type }) => type === "task.parked");
    const [question] = await take(client.approvals.list());
    await client.approvals.answer((question as Approval).id, "blue");
    expect(await handle.result()).toBe("blue");
  });

  test("a batch, its progress and its tasks in order", async () => {
    const { client } = await rig.tenant();
    const tasks = Array.from({ length: 150 }, (_, n) => ({ code: "return input * 2", input: n }));
    const batch = await client.batches.submit({ tasks, label: "doubles" });
    const states: Batch[] = await take(batch.progress());
    expect(states.at(-1)).toMatchObject({ done: true, label: "doubles", counts: { succeeded: 150 } });
    expect((await take(batch.tasks())).map(({ output }) => output)).toEqual(tasks.map(({ input }) => input * 2));
    expect(await batch.ended()).toMatchObject({ total: 150 });
    const listed = await take(client.tasks.list({ batch: batch.id }, { pageSize: 40 }));
    expect(listed).toHaveLength(150);
  });

  test("environments are made, changed, listed and chosen; leases are listed", async () => {
    const { client } = await rig.tenant();
    const { environments, leases } = client;
    const name = "made-by-sdk";
    expect((await environments.providers()).map((provider) => provider.name)).toContain("isolate");
    await environments.create({ name, provider: "isolate" });
    expect(await environments.update(name, { limits: { memoryBytes: 2 ** 26 } })).toMatchObject({ revision: 2 });
    expect(await environments.get(name)).toMatchObject({ limits: { memoryBytes: 2 ** 26 } });
    expect(await environments.setForSession("s", name)).toBe(name);
    expect(await environments.setForSession("s", null)).toBe("isolate");
    expect(await environments.deactivate(name)).toMatchObject({ active: false });
    expect((await environments.list()).map((environment) => environment.name)).toContain(name);
    expect(await leases.list({ state: ["RETAINED"] })).toEqual([]);
  });

  test("tools are listed, told as types and called; workers are listed", async () => {
    const { client } = await rig.tenant();
    expect((await client.tools.list("echo")).map(({ path }) => path)).toEqual(["util.echo"]);
    expect(await client.tools.types("echo")).toContain("echo(");
    expect(await (await client.tools.call("util.echo", { value: { a: 1 } })).result()).toEqual({ a: 1 });
    expect((await client.workers.list()).map(({ state }) => state)).toContain("RUNNING");
  });

  test("a stranger's key is refused", async () => {
    const stranger = createClient({ url: rig.url, key: "nobody-knows-me" });
    await expect(stranger.tools.list()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(take(stranger.tasks.handle("x").events())).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("a task that is not there has no events", async () => {
    const { client } = await rig.tenant();
    const nothing = client.tasks.handle("01a1ee5a-4def-7768-994b-e3e0854bdb9b");
    await expect(take(nothing.events())).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
