import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approve, askedOnce, setPolicy } from "./decisions.ts";
import { type Rig, startRig, type Tenant } from "./rig.ts";
import { ended, run, submit } from "./tasks.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig("Postgres alone");
});
afterAll(() => rig.stop());

const SCHEMA = {
  type: "object",
  properties: { words: { type: "array", items: { type: "string" } } },
  required: ["words"],
  additionalProperties: false,
};
const LONGEST = {
  path: "text.longest",
  description: "The longest word.",
  inputSchema: SCHEMA,
  code: "console.log('looks'); return input.words.reduce((a: string, b: string) => (b.length > a.length ? b : a), '')",
};
const SET = "mutation ($input: FunctionInput!) { setFunction(input: $input) { path version environment mode } }";
const CALL = "return await tools.text.longest({ words: ['a', 'longest', 'bb'] })";

async function withFunction(more: Record<string, unknown> = {}): Promise<Tenant["api"]> {
  const { api } = await rig.tenant();
  await api(SET, { input: { ...LONGEST, ...more } });
  return api;
}

describe("a stored function", () => {
  it("is called like any tool, listed, typed, and journaled with its input", async () => {
    const api = await withFunction();
    const task = await run(api, CALL);
    expect(task).toMatchObject({ status: "SUCCEEDED", output: "longest" });
    expect(task.toolCalls).toMatchObject([
      { path: "text.longest", status: "SUCCEEDED", input: { words: ["a", "longest", "bb"] }, output: "longest" },
    ]);
    const { tools, toolTypes } = await api<{ tools: object[]; toolTypes: string }>(
      '{ tools(search: "longest") { path source mode } toolTypes(search: "longest") }',
    );
    expect(tools).toEqual([{ path: "text.longest", source: "function", mode: "AUTO" }]);
    expect(toolTypes).toContain("longest(input: ");
    const { callTool } = await api<{ callTool: { id: string } }>(
      'mutation { callTool(path: "text.longest", input: { words: ["x"] }) { id } }',
    );
    expect(await ended(api, callTool.id)).toMatchObject({ status: "SUCCEEDED", output: "x" });
  });

  it("belongs to its project: another's tasks know no such tool", async () => {
    await withFunction();
    const { api } = await rig.tenant();
    expect(await run(api, CALL)).toMatchObject({ status: "FAILED", error: { code: "UNKNOWN_TOOL" } });
  });

  it("refuses what its schema refuses, and its faults are the call's, not the task's end", async () => {
    const api = await withFunction({ code: "throw new Error('no luck')" });
    const code = `
      const codes = [];
      for (const input of [{ words: 1 }, {}, { words: ["a"] }]) {
        try { await tools.text.longest(input) } catch (error) { codes.push([error.code, error.message.includes("no luck")]) }
      }
      return codes`;
    expect(await run(api, code)).toMatchObject({
      output: [
        ["BAD_TOOL_INPUT", false],
        ["BAD_TOOL_INPUT", false],
        ["TOOL_FAILED", true],
      ],
    });
  });

  it("has no way out: not even the tools of the task that calls it", async () => {
    const api = await withFunction({ code: "return await tools.kv.put({ key: 'k', value: 1 })" });
    const task = await run(api, `try { ${CALL} } catch (error) { return error.message }`);
    expect(task.output).toMatch(/a function has no tools of its own/);
    expect(await run(api, "return await tools.kv.get({ key: 'k' })")).toMatchObject({ output: null });
  });

  it("one that never ends takes its own time, and no more", async () => {
    const api = await withFunction({ code: "for (;;) {}", timeoutMs: 300 });
    expect(await run(api, CALL)).toMatchObject({ status: "FAILED", error: { code: "TOOL_TIMEOUT" } });
  });

  it("waits for a person where policy says so; one that was changed meanwhile is asked about anew", async () => {
    const api = await withFunction();
    await setPolicy(api, "text.*", "REQUIRED");
    const id = await submit(api, { code: CALL });
    const first = await askedOnce(api, id);
    await api(SET, { input: { ...LONGEST, code: "return 'another'" } });
    await expect(approve(api, first)).rejects.toThrow(/CONFLICT|superseded/);
    const again = await askedOnce(api, id);
    expect(again.id).not.toBe(first.id);
    expect(again.inputHash).not.toBe(first.inputHash);
    await approve(api, again);
    expect(await ended(api, id)).toMatchObject({ status: "SUCCEEDED", output: "another" });
  });

  it("is gone once it is removed, and a path that workers have is refused", async () => {
    const api = await withFunction();
    await api('mutation { removeFunction(path: "text.longest") }');
    expect(await run(api, CALL)).toMatchObject({ error: { code: "UNKNOWN_TOOL" } });
    await expect(api(SET, { input: { ...LONGEST, path: "kv.put" } })).rejects.toThrow(/is a tool of the workers/);
    await expect(api(SET, { input: { ...LONGEST, inputSchema: { type: "string" } } })).rejects.toThrow(/inputSchema/);
    await expect(api(SET, { input: { ...LONGEST, environment: "nowhere" } })).rejects.toThrow(/nowhere/);
  });
});
