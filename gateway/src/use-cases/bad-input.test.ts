import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT, type Submitted, TASK } from "../../testing/operations.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

async function rowCount(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select ((select count(*) from tasks) + (select count(*) from outbox) + (select count(*) from events)
      + (select count(*) from task_labels) + (select count(*) from batches))::integer as n
  `.execute(gateway.db);
  return rows[0]?.n ?? -1;
}

/** What JSON.stringify cannot say: raw text of the input object. */
function rawSubmit(input: string): Promise<Response> {
  const body = `{"query": ${JSON.stringify(SUBMIT)}, "variables": {"input": ${input}}}`;
  return gateway.admin.raw({ method: "POST", headers: { "content-type": "application/json" }, body });
}

describe("refused, coded, and nothing is left", () => {
  let before = 0;
  beforeEach(async () => {
    before = await rowCount();
  });
  afterEach(async () => {
    expect(await rowCount()).toBe(before);
  });

  const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, i]));
  const cases: [string, Record<string, unknown>, string, string][] = [
    ["empty code", { code: "" }, "BAD_INPUT", "code"],
    ["blank code", { code: " \n\t" }, "BAD_INPUT", "code"],
    ["10 MB of code", { code: "x".repeat(10_000_000) }, "TOO_LARGE", "code"],
    ["NUL in code", { code: "return '\0'" }, "BAD_INPUT", "code"],
    ["a lone surrogate in code", { code: "return '\ud800'" }, "BAD_INPUT", "code"],
    ["a negative timeout", { code: "1", timeoutMs: -5 }, "BAD_INPUT", "timeoutMs"],
    ["a zero timeout", { code: "1", timeoutMs: 0 }, "BAD_INPUT", "timeoutMs"],
    ["a timeout of weeks", { code: "1", timeoutMs: 2_000_000_000 }, "BAD_INPUT", "timeoutMs"],
    ["a timeout beyond Int", { code: "1", timeoutMs: 1e12 }, "BAD_INPUT", "timeoutMs"],
    ["a fractional timeout", { code: "1", timeoutMs: 1.5 }, "BAD_INPUT", "timeoutMs"],
    ["a negative queueTtlMs", { code: "1", queueTtlMs: -1 }, "BAD_INPUT", "queueTtlMs"],
    ["a priority of 1000", { code: "1", priority: 1000 }, "BAD_INPUT", "priority"],
    ["a priority of -1", { code: "1", priority: -1 }, "BAD_INPUT", "priority"],
    ["negative maxToolCalls", { code: "1", maxToolCalls: -1 }, "BAD_INPUT", "maxToolCalls"],
    ["an unknown environment", { code: "1", environment: "moon" }, "BAD_INPUT", "isolate"],
    ["an environment with NUL", { code: "1", environment: "\0" }, "BAD_INPUT", "environment"],
    ["a language that the environment cannot run", { code: "1", language: "PYTHON" }, "BAD_INPUT", "language"],
    ["an unknown language", { code: "1", language: "COBOL" }, "BAD_INPUT", "COBOL"],
    ["dependencies", { code: "1", dependencies: { left: "1" } }, "BAD_INPUT", "dependencies"],
    ["NUL in a session", { code: "1", session: "a\0" }, "BAD_INPUT", "session"],
    ["a lone surrogate in an idempotency key", { code: "1", idempotencyKey: "\udc00" }, "BAD_INPUT", "idempotencyKey"],
    ["NUL in an idempotency key", { code: "1", idempotencyKey: "\0" }, "BAD_INPUT", "idempotencyKey"],
    ["an empty idempotency key", { code: "1", idempotencyKey: "" }, "BAD_INPUT", "idempotencyKey"],
    ["NUL in a label key", { code: "1", labels: { "a\0": 1 } }, "BAD_INPUT", "labels"],
    ["a lone surrogate in a label key", { code: "1", labels: { "\ud800": 1 } }, "BAD_INPUT", "labels"],
    ["a nested label", { code: "1", labels: { a: { b: 1 } } }, "BAD_INPUT", "labels"],
    ["labels as a list", { code: "1", labels: [1] }, "BAD_INPUT", "labels"],
    ["33 labels", { code: "1", labels: many }, "BAD_INPUT", "labels"],
    ["a long label", { code: "1", labels: { a: "x".repeat(1025) } }, "BAD_INPUT", "labels"],
    ["2 MB of input", { code: "1", input: "x".repeat(2_000_000) }, "TOO_LARGE", "input"],
    ["a runAt without an offset", { code: "1", runAt: "2030-01-01T00:00:00" }, "BAD_INPUT", "runAt"],
    ["a runAt on February 30th", { code: "1", runAt: "2030-02-30T00:00:00Z" }, "BAD_INPUT", "runAt"],
    ["a runAt that is a number", { code: "1", runAt: 5 }, "BAD_INPUT", "runAt"],
    ["an unknown field", { code: "1", colour: "red" }, "BAD_INPUT", "colour"],
    ["code that is a number", { code: 1 }, "BAD_INPUT", "code"],
    ["no code", {}, "BAD_INPUT", "code"],
  ];
  test.each(cases)("%s", async (_, input, code, mention) => {
    const failure = await gateway.admin.failure(SUBMIT, { input });
    expect(failure).toMatchObject({ code, retryable: false });
    expect(failure.message).toContain(mention);
  });

  test.each([
    ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), "BAD_INPUT"],
    ["an overlong UTF-8 sequence", Buffer.from('{"query":"\xc0\x80"}', "latin1"), "BAD_INPUT"],
    ["malformed JSON", Buffer.from('{"query": '), "BAD_INPUT"],
    ["an empty body", Buffer.alloc(0), "BAD_INPUT"],
    ["JSON that is no object", Buffer.from("5"), "BAD_INPUT"],
    ["a list of requests", Buffer.from("[]"), "BAD_INPUT"],
    ["no query", Buffer.from("{}"), "BAD_INPUT"],
    ["a query that is a number", Buffer.from('{"query":1}'), "BAD_INPUT"],
    ["an unknown parameter", Buffer.from('{"query":"{__typename}","__proto__":1}'), "BAD_INPUT"],
  ])("a body with %s", async (_, body, code) => {
    const response = await gateway.admin.raw({ method: "POST", headers: { "content-type": "application/json" }, body });
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code, retryable: false } }] });
  });

  test("JSON nested 100,000 levels deep, as a variable and as a literal", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const asVariable = await rawSubmit(`{"code": "1", "input": ${deep}}`);
    expect(await asVariable.json()).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
    for (const levels of [400, 9_000, 100_000]) {
      const literal = "[".repeat(levels) + "]".repeat(levels);
      const failure = await gateway.admin.failure(
        `mutation { submitTask(input: {code: "1", input: ${literal}}) { id } }`,
      );
      expect(failure.code).toBe("BAD_INPUT");
    }
  });

  test("a number that JavaScript cannot hold", async () => {
    const response = await rawSubmit('{"code": "1", "input": {"n": 1e999}}');
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
  });
});

describe("stored without loss", () => {
  async function roundTrip(input: string): Promise<string> {
    const answer = (await (await rawSubmit(input)).json()) as { data: Submitted };
    const body = JSON.stringify({ query: TASK, variables: { id: answer.data.submitTask.id } });
    const response = await gateway.admin.raw({ method: "POST", headers: { "content-type": "application/json" }, body });
    return response.text();
  }

  test.each([
    ["NUL in input", '{"a":"\\u0000"}'],
    ["lone surrogates in input", '{"a":"\\ud800","\\udfff":1}'],
    ["__proto__ keys", '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}'],
    ["the order of keys", '{"b":1,"a":2}'],
    ["scalars", '[0,"",false,null,1e+300,-1.5]'],
    ["a string", '"plain"'],
  ])("%s", async (_, json) => {
    expect(await roundTrip(`{"code": "return 1", "input": ${json}}`)).toContain(`"input":${json},`);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("labels called __proto__ and values with NUL", async () => {
    const labels = '{"__proto__":"p","a":"\\u0000\\ud800"}';
    expect(await roundTrip(`{"code": "return 1", "labels": ${labels}}`)).toContain(`"labels":${labels},`);
  });

  test("object literals with a __proto__ key, and with variables inside", async () => {
    const query =
      'mutation ($n: JSON) { submitTask(input: {code: "1", input: {__proto__: {a: 1}, list: [1.5, true, null, "s", $n]}}) { input } }';
    const body = JSON.stringify({ query, variables: { n: { deep: [1] } } });
    const response = await gateway.admin.raw({ method: "POST", headers: { "content-type": "application/json" }, body });
    expect(await response.text()).toContain('"input":{"__proto__":{"a":1},"list":[1.5,true,null,"s",{"deep":[1]}]}');
  });

  test("code with every kind of legal character", async () => {
    const code = "return '𝒳\u2028\u{10ffff}\r\n\t\u0001\ufeff'";
    const { submitTask } = await gateway.admin.data<Submitted>(SUBMIT, { input: { code } });
    expect(await gateway.admin.data(TASK, { id: submitTask.id })).toMatchObject({ task: { code } });
  });
});
