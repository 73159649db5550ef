import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { OTHER_CLIENTS, type OtherClient } from "./other-clients.ts";
import { type Rig, startRig } from "./rig.ts";

const SUBMIT = "mutation ($input: SubmitTaskInput!) { submitTask(input: $input) { id status } }";
const FOLLOW = "subscription ($taskId: ID!) { taskEvents(taskId: $taskId) { seq type } }";
const TASK = "query ($id: ID!) { task(id: $id) { id status output } }";
const ANSWER = "mutation ($id: ID!, $answer: JSON!) { answerQuestion(approvalId: $id, answer: $answer) { id status } }";
const PENDING = "query ($id: ID!) { task(id: $id) { id approvals(status: PENDING) { id } } }";

interface Submitted {
  readonly submitTask: { readonly id: string };
}
interface Event {
  readonly taskEvents: { readonly seq: number; readonly type: string };
}
interface Pending {
  readonly task: { readonly approvals: readonly { readonly id: string }[] };
}

let rig: Rig;
beforeAll(async () => {
  rig = await startRig("Postgres alone");
});
afterAll(() => rig.stop());

describe.each(Object.entries(OTHER_CLIENTS))("%s, with no adapter of ours", (_, connect) => {
  let client: OtherClient;
  beforeEach(() => {
    client = connect({ url: `${rig.fleet.url}/graphql`, key: rig.fleet.key });
  });
  afterEach(() => client.stop());

  async function submit(code: string): Promise<string> {
    return (await client.mutate<Submitted>(SUBMIT, { input: { code } })).submitTask.id;
  }

  test("submits a program, follows it to its end and reads what it returned", async () => {
    const taskId = await submit("console.log('x'); return 6 * 7");
    const seen: Event["taskEvents"][] = [];
    await client.subscribe<Event>(FOLLOW, { taskId }, ({ taskEvents }) => seen.push(taskEvents));
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, i) => i + 1));
    expect(seen.at(-1)?.type).toBe("task.succeeded");
    expect(await client.query(TASK, { id: taskId })).toMatchObject({ task: { status: "SUCCEEDED", output: 42 } });
  });

  test("answers while it watches", async () => {
    const taskId = await submit("return await tools.human.ask({ question: 'Colour?' })");
    const answer = async (): Promise<void> => {
      const { task } = await client.query<Pending>(PENDING, { id: taskId });
      await client.mutate(ANSWER, { id: task.approvals[0]?.id, answer: "blue" });
    };
    const answered: Promise<void>[] = [];
    await client.subscribe<Event>(FOLLOW, { taskId }, ({ taskEvents }) => {
      if (taskEvents.type === "task.parked") answered.push(answer());
    });
    await Promise.all(answered);
    expect(await client.query(TASK, { id: taskId })).toMatchObject({ task: { output: "blue" } });
  });

  test("is told what it may not do", async () => {
    const code = { extensions: expect.objectContaining({ code: "NOT_FOUND" }) as unknown };
    const error = await client.subscribe(FOLLOW, { taskId: "x" }, () => undefined).catch((error: unknown) => error);
    const { graphQLErrors, errors } = error as { graphQLErrors?: unknown[]; errors?: unknown[] };
    expect(graphQLErrors ?? errors).toMatchObject([code]);
  });
});
