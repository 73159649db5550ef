import { type Approval, type Client, type ClientOptions, createClient, TaskFailedError } from "../src/index.ts";

/** What the SDK does, once through; nothing of Node in it, so that every runtime can take it. Its findings are JSON. */
export async function takeTour(options: ClientOptions) {
  const client = createClient(options);
  return {
    ...(await follow(client)),
    failure: await fail(client),
    answer: await answerQuestion(client),
    edited: await decideCall(client),
    cancelled: await cancel(client),
    batch: await runBatch(client),
    tools: (await client.tools.list("echo")).map(({ path }) => path),
  };
}

export const TOUR_FINDINGS = {
  events: ["task.queued", "task.started", "task.output", "task.succeeded"],
  resumed: [3, 4],
  output: 42,
  failure: { code: "GUEST_ERROR", message: "Error: no luck", retryable: false },
  answer: "grün",
  edited: { value: "theirs" },
  cancelled: "CANCELLED",
  batch: [2, 4, 6],
  tools: ["util.echo"],
};

async function follow(client: Client) {
  const task = await client.tasks.submit<number>({ code: "console.log('adds'); return input + 1", input: 41 });
  const events: string[] = [];
  for await (const { type } of task.events()) events.push(type);
  const resumed: number[] = [];
  for await (const { seq } of task.events({ after: 2 })) resumed.push(seq);
  return { events, resumed, output: await task.result() };
}

async function fail(client: Client) {
  const task = await client.tasks.submit({ code: "throw new Error('no luck')" });
  try {
    return await task.result();
  } catch (error) {
    if (!(error instanceof TaskFailedError)) throw error;
    const { code, message, retryable } = error;
    return { code, message, retryable };
  }
}

/** The first approval that the task asks for, as the watch tells it. */
async function awaitApproval(client: Client, taskId: string): Promise<Approval> {
  for await (const approval of client.approvals.watch()) if (approval.task.id === taskId) return approval;
  throw new Error("watching has no end");
}

async function answerQuestion(client: Client) {
  const task = await client.tasks.submit({ code: "return await tools.human.ask({ question: 'Colour?' })" });
  const { id } = await awaitApproval(client, task.id);
  await client.approvals.answer(id, "grün");
  return task.result();
}

/** Needs a policy that holds `util.echo`. */
async function decideCall(client: Client) {
  const task = await client.tasks.submit({ code: "return await tools.util.echo({ value: 'ours' })" });
  const { id, inputHash } = await awaitApproval(client, task.id);
  await client.approvals.decide({ id, inputHash, decision: "APPROVE", editedInput: { value: "theirs" } });
  return { value: await task.result() };
}

async function cancel(client: Client) {
  const task = await client.tasks.submit({ code: "await tools.human.ask({ question: 'Go on?' })" });
  await awaitApproval(client, task.id);
  await task.cancel();
  return (await task.ended()).status;
}

async function runBatch(client: Client) {
  const batch = await client.batches.submit({ tasks: [1, 2, 3].map((input) => ({ code: "return input * 2", input })) });
  await batch.ended();
  const outputs: unknown[] = [];
  for await (const { id } of batch.tasks()) outputs.push(await client.tasks.handle(id).result());
  return outputs;
}
