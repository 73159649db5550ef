import { findTask } from "@airlock/shared/db";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SET_POLICY } from "../../testing/operations.ts";
import { MAIL, publishTestTools } from "../../testing/parked-task.ts";

let gateway: TestGateway;
let projectId: string;
let admin: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  const tenant = await gateway.tenant("tooled");
  [projectId, admin] = [tenant.projectId, tenant.client];
  await publishTestTools(gateway.db, {
    [MAIL]: "REQUIRED",
    "util.echo": "AUTO",
    "pay.out": "BY_INPUT",
    "db.drop": "AUTO",
  });
});
afterAll(() => gateway.stop());

const TOOLS = "query ($search: String) { tools(search: $search) { path mode description inputSchema source } }";
const TYPES = "query ($search: String) { toolTypes(search: $search) }";
const CALL = "mutation ($path: String!, $input: JSON!) { callTool(path: $path, input: $input) { id status language } }";
const paths = async (search: string | null) =>
  (await admin.data<{ tools: { path: string }[] }>(TOOLS, { search })).tools.map(({ path }) => path);

test("a tool's mode is what policy makes of it in this project; one that depends on the input shows as REQUIRED", async () => {
  for (const [pattern, mode] of [
    ["db.*", "DENY"],
    [MAIL, "AUTO"],
  ])
    await admin.data(SET_POLICY, { pattern, mode });
  const { tools } = await admin.data<{ tools: { path: string; mode: string }[] }>(TOOLS);
  expect(tools.map(({ path, mode }) => [path, mode])).toEqual([
    ["db.drop", "DENY"],
    [MAIL, "AUTO"],
    ["pay.out", "REQUIRED"],
    ["util.echo", "AUTO"],
  ]);
  const stranger = (await gateway.tenant("unruled")).client;
  expect(await stranger.data(TOOLS, { search: MAIL })).toMatchObject({
    tools: [{ mode: "REQUIRED", source: "test", inputSchema: { required: ["to"] } }],
  });
});

test("a search finds the tools that have each of its words in path or description", async () => {
  expect(await paths("MAIL")).toEqual([MAIL]);
  expect(await paths(" does  out ")).toEqual(["pay.out"]);
  expect(await paths("")).toHaveLength(4);
  expect(await paths("%")).toEqual([]);
  expect(await paths("\0")).toEqual([]);
});

test("the declarations leave out what the project denies", async () => {
  const { toolTypes } = await admin.data<{ toolTypes: string }>(TYPES);
  expect(toolTypes).toContain("declare const tools");
  expect(toolTypes).toMatch(/send\(input: \{/);
  expect(toolTypes).not.toContain("drop");
  expect((await admin.data<{ toolTypes: string }>(TYPES, { search: "echo" })).toolTypes).not.toContain("send");
});

test("a tool is called as a task of its own", async () => {
  const input = { value: '`${process}` "]} tools' };
  const { callTool } = await admin.data<{ callTool: { id: string } }>(CALL, { path: "util.echo", input });
  expect(callTool).toMatchObject({ status: "QUEUED", language: "JAVASCRIPT" });
  const task = await findTask(gateway.db, projectId, callTool.id);
  expect(task).toMatchObject({ code: 'return await tools["util"]["echo"](input)', input: JSON.stringify(input) });
});

test("a tool called twice with one idempotency key is one task; with another input it is a conflict", async () => {
  const call = `mutation ($path: String!, $input: JSON!, $idempotencyKey: String) {
    callTool(path: $path, input: $input, idempotencyKey: $idempotencyKey) { id } }`;
  const given = { path: "util.echo", input: { value: 1 }, idempotencyKey: "called once" };
  const answers = await Promise.all(Array.from({ length: 5 }, () => admin.data(call, given)));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  for (const other of [{ input: { value: 2 } }, { path: MAIL }])
    expect(await admin.failure(call, { ...given, ...other })).toMatchObject({ code: "CONFLICT" });
  expect(await admin.data(call, { ...given, idempotencyKey: null })).not.toEqual(answers[0]);
  expect((await admin.failure(call, { ...given, idempotencyKey: "" })).code).toBe("BAD_INPUT");
});

test.each([
  "",
  "util",
  "util.nothing",
  "util.*",
  "**",
  "util..echo",
  'util.echo"](1);x["',
  "util.echo\n",
  "__proto__",
  "x".repeat(300),
])("%j is no tool to call", async (path) => {
  expect((await admin.failure(CALL, { path, input: {} })).code).toBe("BAD_INPUT");
});
