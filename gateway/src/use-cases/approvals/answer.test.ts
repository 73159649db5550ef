import { newId } from "@airlock/shared/contracts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../../testing/gateway.ts";
import { ANSWER } from "../../../testing/operations.ts";
import { type Ask, parkTask } from "../../../testing/parked-task.ts";

let gateway: TestGateway;
let projectId: string;
let person: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  projectId = (await gateway.tenant("asked")).projectId;
  person = (await gateway.key(projectId, "alice", ["approve"])).client;
});
afterAll(() => gateway.stop());

async function ask(fields: Ask): Promise<string> {
  return (await parkTask(gateway.db, projectId, { asks: [fields] })).approval.id;
}
const question = (schema?: unknown): Promise<string> =>
  ask({
    kind: "QUESTION",
    path: "human.ask",
    input: { question: "how many?", ...(schema !== undefined && { schema }) },
  });
const unknownOutcome = (): Promise<string> => ask({ kind: "UNKNOWN_OUTCOME" });

describe("a question", () => {
  test("is answered once, with what was said", async () => {
    const approvalId = await question();
    const answer = { text: "a\0b\ud800", n: [1, null] };
    expect(await person.data(ANSWER, { approvalId, answer })).toEqual({
      answerQuestion: { id: approvalId, status: "APPROVED", decidedBy: "alice", answer },
    });
    const failure = await person.failure(ANSWER, { approvalId, answer: "again" });
    expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("APPROVED by alice") });
  });

  test("with a schema takes only what fits it", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] };
    const approvalId = await question(schema);
    for (const answer of ["three", { n: 0 }, {}, [], false]) {
      const failure = await person.failure(ANSWER, { approvalId, answer });
      expect(failure).toMatchObject({ code: "BAD_INPUT", message: expect.stringContaining("answer:") });
    }
    expect(await person.data(ANSWER, { approvalId, answer: { n: 3 } })).toMatchObject({
      answerQuestion: { answer: { n: 3 } },
    });
  });

  test("takes no answer that is too large for a call's result", async () => {
    const approvalId = await question();
    expect((await person.failure(ANSWER, { approvalId, answer: "x".repeat(1024 * 1024) })).code).toBe("TOO_LARGE");
  });

  test("whose time is up takes none", async () => {
    const approvalId = await ask({ kind: "QUESTION", path: "human.ask", input: { question: "?" }, expiresInMs: -1 });
    expect(await person.failure(ANSWER, { approvalId, answer: 1 })).toMatchObject({ code: "CONFLICT" });
  });

  test("of another project answers like an unknown one", async () => {
    const stranger = (await gateway.tenant("curious")).client;
    const foreign = await stranger.send(ANSWER, { approvalId: await question(), answer: 1 });
    expect(foreign.errors?.[0]?.extensions.code).toBe("NOT_FOUND");
    for (const approvalId of [newId(), "x"])
      expect(await stranger.send(ANSWER, { approvalId, answer: 1 })).toEqual(foreign);
  });
});

describe("an unknown outcome", () => {
  test.each([
    { outcome: "happened", result: { id: 7 } },
    { outcome: "happened" },
    { outcome: "did_not" },
    { outcome: "fail" },
  ])("takes %j", async (answer) => {
    const approvalId = await unknownOutcome();
    expect(await person.data(ANSWER, { approvalId, answer })).toMatchObject({
      answerQuestion: { status: "APPROVED", answer },
    });
  });

  test.each(["happened", 1, [], {}, { outcome: "maybe" }, { outcome: "did_not", result: 1 }, { result: 1 }])(
    "does not take %j",
    async (answer) => {
      const approvalId = await unknownOutcome();
      expect((await person.failure(ANSWER, { approvalId, answer })).code).toBe("BAD_INPUT");
    },
  );
});

test.each(["TOOL_CALL", "BUDGET"] as const)("a %s asks no question", async (kind) => {
  const failure = await person.failure(ANSWER, { approvalId: await ask({ kind }), answer: true });
  expect(failure).toMatchObject({ code: "BAD_INPUT", message: expect.stringContaining("decideApproval") });
});
