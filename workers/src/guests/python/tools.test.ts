import { describeNeeding } from "@airlock/shared/testing";
import { describe, expect, it } from "vitest";
import { CLOCK, echo, PythonAgent, pythonValue, runPython } from "../../../testing/python-agent.ts";

const callsOf = (said: readonly (readonly unknown[])[]) =>
  said.filter(([kind]) => kind === "call").map(([, id, path, input]) => [id, path, input]);

describeNeeding("python", "tools of a Python program", () => {
  it("take keywords or one value; snake_case attributes are camelCase, other spellings stay", async () => {
    const code = `tools.util.echo(value=1); tools.util.echo({"b": [1, "é"], "a": None}); tools.util.echo(); tools.util.echo([1])
tools.github.create_issue(title="x"); tools.call("my_tool.do_it", {"a": 1}); tools.call("a.b", c=2)
tools["my_tool"]["do_it"](); tools.github.createIssue(); tools._x.y_(); return tools.util.echo("v")`;
    const { end, said } = await runPython(code, { answer: echo });
    expect(end).toMatchObject({ kind: "returned", output: '"v"' });
    expect(callsOf(said)).toEqual([
      [1, "util.echo", '{"value":1}'],
      [2, "util.echo", '{"b":[1,"é"],"a":null}'],
      [3, "util.echo", "{}"],
      [4, "util.echo", "[1]"],
      [5, "github.createIssue", '{"title":"x"}'],
      [6, "my_tool.do_it", '{"a":1}'],
      [7, "a.b", '{"c":2}'],
      [8, "my_tool.do_it", "{}"],
      [9, "github.createIssue", "{}"],
      [10, "_x.y_", "{}"],
      [11, "util.echo", '"v"'],
    ]);
  });

  it.each(["{1}", "float('inf')", "object()", "1, 2", "1, a=2", "'x' * 1048577"])(
    "an input that is not JSON is refused, and nobody hears of it: %s",
    async (input) => {
      const code = `try: tools.util.echo(${input})\nexcept ToolError as e: return e.code`;
      const { end, said } = await runPython(code);
      expect(end).toMatchObject({ output: '"BAD_TOOL_INPUT"' });
      expect(callsOf(said)).toEqual([]);
    },
  );

  it("a failure is a ToolError with code, message, path and meta; a success has its meta, too", async () => {
    const code = `a = tools.x.a()
meta = tools.last_meta
try: tools.x.b()
except ToolError as e: return [a, meta, e.code, e.message, e.path, e.meta, str(e)]`;
    const guest = new PythonAgent(code);
    guest.settle((await guest.nextCall())[1], "one", CLOCK, { index: 0 });
    guest.refuse((await guest.nextCall())[1], "APPROVAL_DENIED", "no\u2028", { index: 1 });
    const { end } = await guest.ended();
    const expected = ["one", { index: 0 }, "APPROVAL_DENIED", "no\u2028", "x.b", { index: 1 }, "no\u2028"];
    expect(end).toMatchObject({ output: JSON.stringify(expected) });
  });

  it.each([
    ["APPROVAL_EXPIRED", "APPROVAL_EXPIRED"],
    ["TIMEOUT", "TOOL_FAILED"],
  ])("a failure %s that nobody catches ends the task with %s", async (code, expected) => {
    const guest = new PythonAgent("tools.mail.send()");
    guest.refuse((await guest.nextCall())[1], code, "why");
    expect((await guest.ended()).end).toMatchObject({ kind: "failed", code: expected, message: "ToolError: why" });
  });

  it.each([
    ["nothing", "undefined"],
    ["a lone surrogate", '"a\\ud800b"'],
    ["NUL and emoji", '"\\u0000\u{1f600}\u2028"'],
    ["500 arrays in each other", "[".repeat(500) + "]".repeat(500)],
    ["a long text", JSON.stringify("é".repeat(900_000))],
  ])("outcomes come without loss: %s", async (_, text) => {
    const value = text === "undefined" ? undefined : (JSON.parse(text) as unknown);
    const guest = new PythonAgent("return [tools.x.y()]");
    guest.settle((await guest.nextCall())[1], value);
    const { end } = await guest.ended();
    expect(end?.kind === "returned" && JSON.parse(end.output ?? "")).toEqual([value ?? null]);
  });

  describe("with await", () => {
    it.each<[string, string, unknown]>([
      [
        "gather",
        "return await asyncio.gather(*[tools.x.y(i=i) for i in range(5)])",
        [0, 1, 2, 3, 4].map((i) => ({ i })),
      ],
      ["a task of a call", "t = asyncio.create_task(tools.x.y(i=1))\nreturn await t", { i: 1 }],
      ["meta of a call", "c = tools.x.y(i=1)\nawait c\nreturn c.meta", {}],
      [
        "asyncio.run of one's own",
        "async def main():\n  return await tools.x.y(i=2)\nreturn asyncio.run(main())",
        { i: 2 },
      ],
      ["async for and with", "async def g():\n  yield await tools.x.y(i=3)\nasync for v in g(): return v", { i: 3 }],
      ["a comprehension", "async def g():\n  yield await tools.x.y(i=3)\nreturn [v async for v in g()]", [{ i: 3 }]],
      ["a thread beside the loop", "return await asyncio.to_thread(lambda: tools.x.y(i=4))", { i: 4 }],
      [
        "a loop that never waits",
        "t = asyncio.ensure_future(tools.x.y(i=5))\nwhile not t.done(): await asyncio.sleep(0)\nreturn t.result()",
        { i: 5 },
      ],
      ["as_completed", "return [await c for c in asyncio.as_completed([tools.x.y(i=6)])]", [{ i: 6 }]],
    ])("%s", async (_, code, value) => {
      expect(await pythonValue(`import asyncio\n${code}`, { answer: echo })).toEqual(value);
    });

    it("calls are there side by side and settle in any order; a second outcome of one is ignored", async () => {
      const code = `import asyncio
seen = []
async def note(name): seen.append(await tools.x[name]())
await asyncio.gather(*map(note, "abc"))
return seen`;
      const guest = new PythonAgent(code);
      await guest.nextIdle();
      for (const id of [3, 1, 1, 2]) guest.settle(id, id);
      expect((await guest.ended()).end).toMatchObject({ output: "[3,1,2]" });
    });

    it("one that is waited for too long is left, and its outcome is nothing to anybody", async () => {
      const code = `import asyncio
try: await asyncio.wait_for(tools.x.slow(), 5)
except asyncio.TimeoutError: pass
return tools.call("x.b") and await tools.x.b()`;
      const guest = new PythonAgent(code);
      guest.send(["tick", (await guest.nextIdle())[1]]);
      const idle = await guest.nextIdle();
      expect(idle[2]).toBe(true);
      guest.settle(1, "late");
      for (const id of [2, 3]) guest.settle(id, id);
      expect((await guest.ended()).end).toMatchObject({ output: "3" });
    });
  });

  it("threads wait for calls side by side", async () => {
    const code = `import concurrent.futures as c
with c.ThreadPoolExecutor(3) as pool: return list(pool.map(lambda i: tools.x.y(i=i), range(3)))`;
    const guest = new PythonAgent(code);
    expect(await guest.nextIdle()).toEqual(["idle", 1, true, null, null, 1]);
    expect(callsOf(guest.said)).toHaveLength(3);
    for (const id of [2, 3, 1]) guest.settle(id, id);
    expect((await guest.ended()).end).toMatchObject({ output: "[1,2,3]" });
  });

  it("a call beside a child process: it is settled while that runs", async () => {
    const code = `import subprocess, threading
out = []
t = threading.Thread(target=lambda: out.append(tools.x.y(i=1))); t.start()
p = subprocess.run(["cat"], input=b"x", stdout=subprocess.PIPE); t.join()
return [p.stdout.decode(), out]`;
    expect(await pythonValue(code, { answer: echo })).toEqual(["x", [{ i: 1 }]]);
  });
});
