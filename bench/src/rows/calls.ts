import { setTimeout as sleep } from "node:timers/promises";
import { bareCommits } from "../bare.ts";
import type { Stack } from "../stack.ts";
import { median } from "../statistics.ts";
import type { Row } from "../table.ts";

const SUBMIT = `mutation ($code: String!) { submitTask(input: { code: $code }) { id } }`;
const STATUS = `query ($id: ID!) { task(id: $id) { status } }`;
const LOOK = `query ($id: ID!) { task(id: $id) { events(first: 1000) { at type } } }`;

interface Look {
  task: { events: { at: string; type: string }[] };
}

/** What one automatic call adds to a task: the same program with and without its calls. */
export async function callRow(stack: Stack, calls: number, rounds: number): Promise<Row> {
  const each: number[] = [];
  const commits: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    commits.push(...(await bareCommits(stack.databaseUrl, calls)));
    const without = await timeOf(stack, "return 0");
    const withCalls = await timeOf(
      stack,
      `for (let i = 0; i < ${calls}; i++) await tools.util.echo({ value: i }); return 0`,
    );
    each.push((withCalls - without) / calls);
  }
  return {
    name: `one automatic tool call, p50, ${stack.backend.kind}`,
    figure: median(each),
    bare: median(commits),
    unit: "ms",
    bar: 5,
    detail: "bare: one single-row commit",
  };
}

/** Milliseconds from its start to its end, as the event log has them. */
async function timeOf(stack: Stack, code: string): Promise<number> {
  const { submitTask } = await stack.api<{ submitTask: { id: string } }>(SUBMIT, { code });
  for (;;) {
    const { task: now } = await stack.api<{ task: { status: string } }>(STATUS, { id: submitTask.id });
    if (now.status === "SUCCEEDED") {
      const { task } = await stack.api<Look>(LOOK, { id: submitTask.id });
      const at = (type: string) => Date.parse(task.events.find((event) => event.type === type)?.at ?? "");
      return at("task.succeeded") - at("task.started");
    }
    await sleep(10);
  }
}
