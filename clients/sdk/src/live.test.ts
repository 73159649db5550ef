import { afterEach, describe, expect, test } from "vitest";
import { answerJson, type GatewayDouble, openStream, startGatewayDouble } from "../testing/gateway-double.ts";
import { type Approval, createClient } from "./index.ts";

const PATIENCE = { delayMs: 1, maxDelayMs: 5 };

let gateway: GatewayDouble;
afterEach(() => gateway.stop());

const client = () => createClient({ url: gateway.url, key: "a-key", patience: PATIENCE });
const next = (data: unknown): string => `event: next\ndata: ${JSON.stringify({ data })}\n\n`;
const approval = (id: string, status: string): Partial<Approval> =>
  ({ id, status, task: { id: `task of ${id}` } }) as Partial<Approval>;

describe("streams without a cursor, cut off", () => {
  test("a batch begins again with its current state, which is told once, and goes on until it is done", async () => {
    const state = (succeeded: number) => ({ batchProgress: { id: "b", done: succeeded === 2, counts: { succeeded } } });
    gateway = await startGatewayDouble((_, response) => {
      const states = [[0, 1], [1], [1, 2]][gateway.received.length - 1] ?? [];
      response.on("error", () => undefined);
      openStream(response).write(states.map((one) => next(state(one))).join(""), () =>
        setImmediate(() => response.destroy()),
      );
    });
    const seen: number[] = [];
    for await (const { counts } of client().batches.handle("b").progress()) seen.push(counts.succeeded);
    expect(seen).toEqual([0, 1, 2]);
  });

  test("approvals: what is pending is told once, and what was decided meanwhile is found out", async () => {
    gateway = await startGatewayDouble(({ query }, response) => {
      if (!query.includes("subscription")) {
        return answerJson(response, { data: { task: { approvals: [approval("a", "DENIED")] } } });
      }
      const streams = gateway.received.filter((one) => one.query.includes("subscription")).length;
      const told = streams === 1 ? [approval("a", "PENDING")] : [approval("a", "DENIED"), approval("b", "PENDING")];
      openStream(response).write(told.map((one) => next({ approvalUpdates: one })).join(""), () => {
        if (streams === 1) setImmediate(() => response.destroy());
      });
    });
    const seen: string[] = [];
    for await (const { id, status } of client().approvals.watch()) {
      seen.push(`${id} ${status}`);
      if (id === "b") break;
    }
    expect(seen).toEqual(["a PENDING", "a DENIED", "b PENDING"]);
  });
});
