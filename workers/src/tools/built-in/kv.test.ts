import { newId } from "@airlock/shared/contracts";
import type { Database } from "@airlock/shared/db";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call } from "../../../testing/tool-context.ts";
import { openToolDatabase, type ToolDatabase } from "../../../testing/tool-database.ts";
import type { Tool } from "../tool.ts";
import { get, increment, put } from "./kv.ts";

let database: ToolDatabase;
beforeAll(async () => {
  database = await openToolDatabase();
});
afterAll(() => database.drop());

/** As the desk does: each call in a transaction, which ends with the call. */
function run(tool: Tool, input: unknown, projectId = database.projectId): Promise<unknown> {
  return database.db.transaction().execute((db: Database) => call(tool, input, { db, projectId }));
}

describe("kv", () => {
  it("gives null where nothing is kept", async () => {
    expect(await run(get, { key: "nothing" })).toBeNull();
  });

  it.each([
    [null],
    [0],
    [-1.5e-7],
    [""],
    ["a\0b\ud800"],
    [[1, [2]]],
    [{ b: 1, a: { c: null } }],
    [JSON.parse('{"__proto__":{"x":1}}')],
  ])("gives back %j as it was, keys in their order", async (value) => {
    await run(put, { key: "roundtrip", value: "before" });
    expect(await run(put, { key: "roundtrip", value })).toBeNull();
    expect(JSON.stringify(await run(get, { key: "roundtrip" }))).toBe(JSON.stringify(value));
  });

  it("keeps projects apart", async () => {
    const other = newId();
    await run(put, { key: "mine", value: 1 });
    expect(await run(get, { key: "mine" }, other)).toBeNull();
    expect(await run(increment, { key: "mine" }, other)).toBe(1);
    expect(await run(get, { key: "mine" })).toBe(1);
  });

  it.each([
    ["no value", put, { key: "k" }],
    ["an empty key", get, { key: "" }],
    ["a key of 513 characters", get, { key: "x".repeat(513) }],
    ["a NUL", get, { key: "a\0" }],
    ["half a surrogate pair, which would be another's key", get, { key: "\ud800" }],
    ["a misspelt field", increment, { key: "k", bye: 2 }],
    ["an amount beyond 2^53", increment, { key: "k", by: 2 ** 53 }],
    ["an amount that is no number", increment, { key: "k", by: "1" }],
  ])("refuses %s before it asks the database", async (_, tool, input) => {
    await expect(call(tool, input)).rejects.toThrow(/BAD_TOOL_INPUT/);
  });

  it("takes a key of 512 characters that are long in UTF-8", async () => {
    const key = "€".repeat(512);
    await run(put, { key, value: 1 });
    expect(await run(get, { key })).toBe(1);
  });
});

describe("kv.increment", () => {
  it("begins at 0 and answers the new number", async () => {
    expect(await run(increment, { key: "count" })).toBe(1);
    expect(await run(increment, { key: "count", by: 41 })).toBe(42);
    expect(await run(increment, { key: "count", by: -42.5 })).toBe(-0.5);
    expect(await run(get, { key: "count" })).toBe(-0.5);
  });

  it("adds as JavaScript does", async () => {
    for (const [a, b] of [
      [0.1, 0.2],
      [1e-7, 1e-7],
      [9_007_199_254_740_990, 1],
      [5e-324, 0],
    ] as const) {
      await run(put, { key: "sum", value: a });
      expect(await run(increment, { key: "sum", by: b })).toBe(a + b);
    }
  });

  it("loses none of many at once", async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => run(increment, { key: "busy" })));
    expect(new Set(answers).size).toBe(60);
    expect(await run(get, { key: "busy" })).toBe(60);
  });

  it.each([["1"], [null], [true], [[1]], [{ n: 1 }], ["-1"]])(
    "refuses to add to %j and leaves it alone",
    async (value) => {
      await run(put, { key: "text", value });
      await expect(run(increment, { key: "text" })).rejects.toMatchObject({
        code: "TOOL_FAILED",
        message: 'the value under "text" is not a number',
      });
      expect(await run(get, { key: "text" })).toEqual(value);
    },
  );

  it.each([Number.MAX_SAFE_INTEGER, 1e300, Number.MAX_VALUE])("refuses to pass 2^53, from %d", async (value) => {
    await run(put, { key: "huge", value });
    await expect(run(increment, { key: "huge" })).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("2^53"),
    });
    expect(await run(get, { key: "huge" })).toBe(value);
  });

  it("a refusal does not break the transaction, which still has the journal to write", async () => {
    await run(put, { key: "word", value: "x" });
    const after = await database.db.transaction().execute(async (db: Database) => {
      const context = { db, projectId: database.projectId };
      await expect(call(increment, { key: "word" }, context)).rejects.toThrow(/not a number/);
      return call(get, { key: "word" }, context);
    });
    expect(after).toBe("x");
  });

  it("does nothing when the journal's transaction does not commit", async () => {
    const cut = database.db.transaction().execute(async (db: Database) => {
      await call(increment, { key: "cut" }, { db, projectId: database.projectId });
      throw new Error("killed");
    });
    await expect(cut).rejects.toThrow("killed");
    expect(await run(get, { key: "cut" })).toBeNull();
  });
});
