import { describe, expect, it } from "vitest";
import { createLifecycle } from "./lifecycle.ts";

const log = { info: () => undefined, error: () => undefined };

describe("the lifecycle", () => {
  it("releases in reverse order, once, however often it is asked", async () => {
    const order: string[] = [];
    const lifecycle = createLifecycle({ log });
    lifecycle.defer("database", () => void order.push("database"));
    lifecycle.defer("server", () => void order.push("server"));
    await Promise.all([lifecycle.shutdown("a"), lifecycle.shutdown("b")]);
    expect(order).toEqual(["server", "database"]);
    expect(lifecycle.stopping.aborted).toBe(true);
  });

  it("goes on after a part that fails or hangs, and names both", async () => {
    const order: string[] = [];
    const lifecycle = createLifecycle({ log });
    lifecycle.defer("first", () => void order.push("first"));
    lifecycle.defer("hangs", () => new Promise<void>(() => undefined), { timeoutMs: 5 });
    lifecycle.defer("fails", () => Promise.reject(new Error("no")));
    const failure: unknown = await lifecycle.shutdown("end").catch((error: unknown) => error);
    expect(order).toEqual(["first"]);
    expect((failure as AggregateError).errors.map(String)).toEqual([
      "Error: could not stop fails",
      "Error: could not stop hangs",
    ]);
  });
});
