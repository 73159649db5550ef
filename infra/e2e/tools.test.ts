import { createServer, type Server } from "node:http";
import { freePort } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approve, askedOnce, setPolicy } from "./decisions.ts";
import { type Rig, startRig } from "./rig.ts";
import { ended, oneTo, run, seqs, submit, type TaskView } from "./tasks.ts";

let rig: Rig;
let server: Server;
let heard: { method: string; url: string; header: string; body: string }[];
let port: number;

beforeAll(async () => {
  heard = [];
  port = await freePort();
  server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const { method = "", url = "" } = request;
      heard.push({ method, url, header: String(request.headers["x-asked"]), body });
      response.writeHead(201, { "content-type": "text/plain" }).end("made");
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  rig = await startRig("Postgres alone", { env: { AIRLOCK_HTTP_ALLOW: `127.0.0.1:${port}` } });
});

afterAll(async () => {
  await rig.stop();
  server.closeAllConnections();
  server.close();
});

const kinds = (task: TaskView): unknown[] =>
  task.events
    .filter(({ type }) => type.startsWith("tool."))
    .map(({ type, data }) => [type, data["index"], data["code"] ?? data["path"] ?? null]);

describe("the built-in tools of the contract", () => {
  it("answer as promised, and the journal shows path, input with defaults, and output of each", async () => {
    const code = `
      const answers = [];
      answers.push(await tools.util.echo({ value: { a: [1, null, "ü\\u0000"] } }));
      answers.push(await tools.util.sleep({ ms: 1 }));
      answers.push(await tools.kv.get({ key: "k" }));
      answers.push(await tools.kv.put({ key: "k", value: 40 }));
      answers.push(await tools.kv.increment({ key: "k" }));
      answers.push(await tools.kv.increment({ key: "k", by: 1 }));
      answers.push(await tools.kv.get({ key: "k" }));
      answers.push((await tools.artifacts.put({ name: "a/b.txt", content: "hällo" })).size);
      answers.push((await tools.artifacts.put({ name: "c.bin", base64: "AAEC/w==" })).size);
      answers.push(await tools.artifacts.get({ name: "a/b.txt" }));
      answers.push((await tools.artifacts.get({ name: "c.bin" })).base64);
      return answers;`;
    const { api } = await rig.tenant();
    const task = await run(api, code);
    const file = { name: "a/b.txt", contentType: "text/plain", size: 6, content: "hällo" };
    const answers = [{ a: [1, null, "ü\0"] }, null, null, null, 41, 42, 42, 6, 4, file, "AAEC/w=="];
    expect(task).toMatchObject({ status: "SUCCEEDED", output: answers, segments: 1 });
    expect(task.toolCalls.map(({ index, status }) => [index, status])).toEqual(
      answers.map((_, index) => [index, "SUCCEEDED"]),
    );
    expect(task.toolCalls[4]).toMatchObject({ path: "kv.increment", input: { key: "k", by: 1 }, output: 41 });
    const { task: seen } = await api<{ task: { artifacts: { name: string; size: number; url: string }[] } }>(
      "query ($id: ID!) { task(id: $id) { artifacts { name size url direction } } }",
      { id: task.id },
    );
    expect(seen.artifacts).toMatchObject([
      { name: "a/b.txt", size: 6, direction: "OUTPUT" },
      { name: "c.bin", size: 4, direction: "OUTPUT" },
    ]);
  });

  it("are listed with the modes of the contract, plugins beside them", async () => {
    const { tools } = await rig.api<{ tools: { path: string; mode: string; source: string }[] }>(
      "{ tools { path mode source } }",
    );
    const modes = Object.fromEntries(tools.map(({ path, mode }) => [path, mode]));
    expect(modes).toMatchObject({
      "util.echo": "AUTO",
      "util.sleep": "AUTO",
      "human.ask": "AUTO",
      "kv.get": "AUTO",
      "kv.put": "AUTO",
      "kv.increment": "AUTO",
      "artifacts.put": "AUTO",
      "artifacts.get": "AUTO",
      "http.request": "REQUIRED",
      "ledger.add": "AUTO",
      "ledger.send": "REQUIRED",
      "plain.hello": "AUTO",
    });
    expect(tools.find(({ path }) => path === "plain.hello")?.source).toMatch(/plain\.mts$/);
  });

  it("http.request goes out only once a person has approved exactly that request", async () => {
    const input = { method: "POST", url: `http://127.0.0.1:${port}/x`, headers: { "x-asked": "yes" }, body: "hi" };
    const id = await submit(rig.api, {
      code: "const { status, body } = await tools.http.request(input); return { status, body }",
      input,
    });
    const approval = await askedOnce(rig.api, id);
    expect(approval.toolCall).toMatchObject({ path: "http.request", input });
    expect(heard).toEqual([]);
    await approve(rig.api, approval);
    expect(await ended(rig.api, id)).toMatchObject({ status: "SUCCEEDED", output: { status: 201, body: "made" } });
    expect(heard).toEqual([{ method: "POST", url: "/x", header: "yes", body: "hi" }]);
  });
});

describe("a call that does not succeed rejects with a code; code that catches goes on, one that does not fails", () => {
  const CASES = [
    { name: "an unknown path", call: "tools.no.such()", code: "UNKNOWN_TOOL", status: "FAILED" },
    { name: "a path that is only a part of one", call: "tools.util()", code: "UNKNOWN_TOOL", status: "FAILED" },
    { name: "a wrong type", call: "tools.kv.get({ key: 7 })", code: "BAD_TOOL_INPUT", status: "FAILED" },
    { name: "a field too many", call: "tools.kv.get({ key: 'k', x: 1 })", code: "BAD_TOOL_INPUT", status: "FAILED" },
    { name: "no input at all", call: "tools.kv.get()", code: "BAD_TOOL_INPUT", status: "FAILED" },
    { name: "denied by policy", call: "tools.ledger.set({ line: 'x' })", code: "TOOL_DENIED", status: "DENIED" },
    { name: "denied by the tool", call: "tools.ledger.pay({ amount: -1 })", code: "TOOL_DENIED", status: "DENIED" },
    { name: "a tool that refuses", call: "tools.ledger.refuse()", code: "TOOL_FAILED", status: "FAILED" },
    { name: "a tool with a fault", call: "tools.ledger.crash()", code: "TOOL_FAILED", status: "FAILED" },
    { name: "an answer against its schema", call: "tools.ledger.lie()", code: "TOOL_FAILED", status: "FAILED" },
    { name: "an answer of 2 MB", call: "tools.ledger.flood()", code: "TOOL_FAILED", status: "FAILED" },
    { name: "a tool that hangs", call: "tools.ledger.hang()", code: "TOOL_TIMEOUT", status: "FAILED" },
  ];
  let api: Rig["api"];

  beforeAll(async () => {
    ({ api } = await rig.tenant());
    await setPolicy(api, "ledger.set", "DENY");
  });

  it.each(CASES)("$name: $code", async ({ call, code, status }) => {
    const caught = `
      let told;
      try { await ${call} } catch (error) { told = [error instanceof Error, error.code, error.message.length > 10] }
      return { told, after: await tools.util.echo({ value: "went on" }) };`;
    const [goesOn, fails] = await Promise.all([run(api, caught), run(api, `await ${call}; return 1`)]);
    expect(goesOn).toMatchObject({ status: "SUCCEEDED", output: { told: [true, code, true], after: "went on" } });
    expect(goesOn.toolCalls).toMatchObject([
      { index: 0, status, error: { code }, output: null },
      { index: 1, path: "util.echo", status: "SUCCEEDED", output: "went on" },
    ]);
    expect(fails).toMatchObject({ status: "FAILED", error: { code }, output: null });
    expect(fails.error?.message).toContain(fails.toolCalls[0]?.error?.message);
    expect(rig.ledger.entries(fails.id)).toEqual([]);
  });

  it("an error of the program's own stays a GUEST_ERROR, whatever code the program gives it", async () => {
    const forged = "throw Object.assign(new Error('no tool said this'), { code: 'TOOL_DENIED', path: 'a.b' })";
    expect(await run(api, forged)).toMatchObject({ status: "FAILED", error: { code: "GUEST_ERROR" } });
  });

  it("an answer too large becomes an artifact where the tool says so", async () => {
    const task = await run(api, "return await tools.ledger.file()");
    expect(task.output).toMatchObject({ artifact: { size: 2 * 1024 * 1024 + 2 } });
  });
});

describe("the journal and the events", () => {
  it("one after the other: called, completed, failed, without a gap", async () => {
    const task = await run(
      rig.api,
      "await tools.util.echo({}); await tools.no.such().catch(() => 0); await tools.kv.get({ key: 'x' }); return 1",
    );
    expect(kinds(task)).toEqual([
      ["tool.called", 0, "util.echo"],
      ["tool.completed", 0, null],
      ["tool.called", 1, "no.such"],
      ["tool.failed", 1, "UNKNOWN_TOOL"],
      ["tool.called", 2, "kv.get"],
      ["tool.completed", 2, null],
    ]);
    expect(seqs(task)).toEqual(oneTo(task.events.length));
    expect(task.events.at(-1)?.type).toBe("task.succeeded");
  });

  it("output and calls keep the order in which the program made them", async () => {
    const code = "for (let i = 0; i < 5; i++) { console.log('before ' + i); await tools.util.echo({ value: i }); }";
    const task = await run(rig.api, code);
    const order = task.events.flatMap(({ type, data }) =>
      type === "task.output" ? [String(data["text"])] : type === "tool.called" ? [`call ${String(data["index"])}`] : [],
    );
    expect(order).toEqual([0, 1, 2, 3, 4].flatMap((i) => [`before ${i}\n`, `call ${i}`]));
  });

  it("pages of toolCalls begin after an index and hold what was asked for", async () => {
    const task = await run(rig.api, "for (let i = 0; i < 7; i++) await tools.util.echo({ value: i }); return 1");
    const page = async (first: number, after?: number): Promise<unknown[]> => {
      const { task: seen } = await rig.api<{ task: { toolCalls: { index: number; output: number }[] } }>(
        "query ($id: ID!, $first: Int, $after: Int) { task(id: $id) { toolCalls(first: $first, after: $after) { index output } } }",
        { id: task.id, first, after },
      );
      return seen.toolCalls.map(({ index, output }) => [index, output]);
    };
    expect([await page(3), await page(3, 2), await page(3, 5), await page(3, 6)]).toEqual([
      [
        [0, 0],
        [1, 1],
        [2, 2],
      ],
      [
        [3, 3],
        [4, 4],
        [5, 5],
      ],
      [[6, 6]],
      [],
    ]);
  });
});

describe("callTool", () => {
  const callTool = async (path: string, input: unknown): Promise<string> => {
    const { callTool } = await rig.api<{ callTool: { id: string } }>(
      "mutation ($path: String!, $input: JSON!) { callTool(path: $path, input: $input) { id } }",
      { path, input },
    );
    return callTool.id;
  };

  it("runs one call as a task whose output is the tool's answer", async () => {
    const task = await ended(rig.api, await callTool("util.echo", { value: [1, { x: null }] }));
    expect(task).toMatchObject({ status: "SUCCEEDED", output: [1, { x: null }] });
    expect(task.toolCalls).toMatchObject([{ path: "util.echo", input: { value: [1, { x: null }] } }]);
  });

  it("is held like any other call where policy says so", async () => {
    const id = await callTool("ledger.send", { to: "a" });
    await approve(rig.api, await askedOnce(rig.api, id));
    expect(await ended(rig.api, id)).toMatchObject({ status: "SUCCEEDED", output: { sentTo: "a", copies: 1 } });
    expect(rig.ledger.entries(id)).toHaveLength(1);
  });

  it("fails as the call fails, and a tool that is not there is refused at once", async () => {
    expect(await ended(rig.api, await callTool("kv.get", { key: 1 }))).toMatchObject({
      status: "FAILED",
      error: { code: "BAD_TOOL_INPUT" },
    });
    await expect(callTool("no.such", {})).rejects.toMatchObject({ code: "BAD_INPUT" });
    await expect(callTool("x');process.exit();('", {})).rejects.toMatchObject({ code: "BAD_INPUT" });
  });
});

describe("tools of plugins", () => {
  it("run beside the built-in ones, each call under a key of its own", async () => {
    const code = `
      await tools.ledger.add({ line: "one" });
      await Promise.all([tools.ledger.add({ line: "same" }), tools.ledger.add({ line: "same" })]);
      return [await tools.ledger.set({ line: "set" }), await tools.plain.hello({ name: "you" })];`;
    const task = await run(rig.api, code);
    expect(task).toMatchObject({ status: "SUCCEEDED", output: ["wrote set", "hello you"] });
    const entries = rig.ledger.entries(task.id);
    expect(entries.map(({ input }) => String(input["line"])).toSorted()).toEqual(["one", "same", "same", "set"]);
    expect(new Set(entries.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
    for (const { callIndex, input } of entries) expect(task.toolCalls[callIndex]?.input).toEqual(input);
  });

  it("a policy that is a function of the input decides by the input", async () => {
    const id = await submit(rig.api, {
      code: `const codes = [await tools.ledger.pay({ amount: 1 })];
        codes.push(await tools.ledger.pay({ amount: -5 }).catch((error) => error.code));
        codes.push(await tools.ledger.pay({ amount: 500 }));
        return codes;`,
    });
    const approval = await askedOnce(rig.api, id);
    expect(approval.toolCall).toMatchObject({ path: "ledger.pay", input: { amount: 500 } });
    expect(rig.ledger.entries(id)).toHaveLength(1);
    await approve(rig.api, approval);
    expect(await ended(rig.api, id)).toMatchObject({ output: [1, "TOOL_DENIED", 500] });
    expect(rig.ledger.entries(id).map(({ input }) => input["amount"])).toEqual([1, 500]);
  });
});
