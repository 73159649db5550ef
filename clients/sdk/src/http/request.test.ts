import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { answerError, answerJson, type GatewayDouble, startGatewayDouble } from "../../testing/gateway-double.ts";
import { createClient, type Patience } from "../index.ts";

const QUICK: Partial<Patience> = { delayMs: 1, maxDelayMs: 5 };

let gateway: GatewayDouble;
afterEach(() => gateway.stop());

/** The n-th request gets the n-th answer, and all further ones the last. */
async function start(...answers: ((response: ServerResponse) => void)[]): Promise<void> {
  let n = 0;
  gateway = await startGatewayDouble((_, response) => {
    answers[Math.min(n, answers.length - 1)]?.(response);
    n += 1;
  });
}

const client = (patience = QUICK) => createClient({ url: gateway.url, key: "a-key", patience });
const data = (body: unknown) => (response: ServerResponse) => answerJson(response, { data: body });
const broken = (response: ServerResponse): void => void response.destroy();
const keys = (): unknown[] =>
  gateway.received.map(({ variables }) => (variables["input"] as { idempotencyKey: string }).idempotencyKey);

describe("a request that fails", () => {
  test("a query is sent again while the failure may pass", async () => {
    await start(
      broken,
      (response) => response.writeHead(429, { "retry-after": "0" }).end(),
      (response) => response.writeHead(504).end("timeout"),
      (response) => answerError(response, "INTERNAL", true, 500),
      data({ workers: [] }),
    );
    expect(await client().workers.list()).toEqual([]);
    expect(gateway.received).toHaveLength(5);
  });

  test("a submission is sent again with the key that it got at first", async () => {
    await start(broken, (response) => answerError(response, "UNAVAILABLE", true), data({ submitTask: { id: "t1" } }));
    expect((await client().tasks.submit({ code: "return 1" })).id).toBe("t1");
    expect(keys()).toHaveLength(3);
    expect(new Set(keys()).size).toBe(1);
    await client().tasks.submit({ code: "return 1" });
    expect(new Set(keys()).size).toBe(2);
  });

  test("a key of the caller's own is left alone", async () => {
    await start(data({ submitBatch: { id: "b1" } }));
    await client().batches.submit({ tasks: [{ code: "return 1" }], idempotencyKey: "mine" });
    expect(keys()).toEqual(["mine"]);
  });

  test.each([
    ["a tool call", () => client().tools.call("util.echo", { value: 1 })],
    ["a decision", () => client().approvals.decide({ id: "a", inputHash: "h", decision: "APPROVE" })],
    ["an answer", () => client().approvals.answer("a", 1)],
    ["a retry", () => client().tasks.retry("t")],
  ])("%s may have happened and is not sent again", async (_, act) => {
    await start(broken);
    await expect(act()).rejects.toMatchObject({ name: "ConnectionError", code: "UNREACHABLE", retryable: true });
    expect(gateway.received).toHaveLength(1);
  });

  test("a refusal that will not pass comes at once, with its code", async () => {
    await start((response) => answerError(response, "FORBIDDEN", false));
    await expect(client().tools.types()).rejects.toMatchObject({ code: "FORBIDDEN", retryable: false });
    expect(gateway.received).toHaveLength(1);
  });

  test("a gateway that stays away is given up after the agreed number of tries", async () => {
    await start((response) => answerError(response, "UNAVAILABLE", true, 503));
    await expect(client({ ...QUICK, attempts: 3 }).tools.list()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(gateway.received).toHaveLength(3);
  });

  test("something else at the address is said to be something else", async () => {
    await start((response) => response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not here</h1>"));
    await expect(client().tools.list()).rejects.toMatchObject({ code: "BAD_ANSWER", retryable: false });
  });

  test("a redirect is not followed with the key", async () => {
    await start((response) => response.writeHead(307, { location: "http://127.0.0.1:9/" }).end());
    await expect(client({ ...QUICK, attempts: 1 }).tools.list()).rejects.toMatchObject({ name: "ConnectionError" });
  });

  test("no answer within the agreed silence counts as none", async () => {
    await start(() => undefined, data({ workers: [] }));
    expect(await client({ ...QUICK, silenceMs: 100 }).workers.list()).toEqual([]);
  });
});
