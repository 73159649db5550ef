import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT, type Submitted } from "../../testing/operations.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const inProcess = { code: "return 1", language: "JAVASCRIPT", environment: "process" };
const send = (fields: object) => gateway.admin.send<Submitted>(SUBMIT, { input: { ...inProcess, ...fields } });
async function refusal(fields: object): Promise<string> {
  const { errors, data } = await send(fields);
  expect([data?.submitTask ?? null, errors?.[0]?.extensions.code]).toEqual([null, "BAD_INPUT"]);
  return errors?.[0]?.message ?? "";
}
const TASK = "query ($id: ID!) { task(id: $id) { dependencies commit } }";
const dependenciesOf = async (id: string) =>
  (await gateway.admin.data<{ task: { dependencies: unknown } }>(TASK, { id })).task.dependencies;

describe("npm packages of a task", () => {
  it("are kept with it, and belong to what an idempotency key stands for", async () => {
    const dependencies = {
      "left-pad": "^1.3.0",
      "@team/a.b_c": ">=1.0.0-rc.1 <2 || ~3.1",
      JSONStream: "latest",
      x: "*",
    };
    const { submitTask } = await gateway.admin.data<Submitted>(SUBMIT, {
      input: { ...inProcess, dependencies, idempotencyKey: "packages" },
    });
    expect(await dependenciesOf(submitTask.id)).toEqual(dependencies);
    const reversed = Object.fromEntries(Object.entries(dependencies).toReversed());
    const same = await send({ dependencies: reversed, idempotencyKey: "packages" });
    expect(same.data?.submitTask.id).toBe(submitTask.id);
    const other = await send({ dependencies: { ...dependencies, x: "1" }, idempotencyKey: "packages" });
    expect(other.errors?.[0]?.extensions.code).toBe("CONFLICT");
  });

  it("are a retry's, too", async () => {
    const { data } = await send({ dependencies: { left: "1" } });
    const id = data?.submitTask.id ?? "";
    await gateway.admin.data("mutation ($id: ID!) { cancelTask(id: $id) { id } }", { id });
    const retry = "mutation ($id: ID!) { retryTask(id: $id) { id } }";
    const { retryTask } = await gateway.admin.data<{ retryTask: { id: string } }>(retry, { id });
    expect(await dependenciesOf(retryTask.id)).toEqual({ left: "1" });
  });

  it("that nothing could import are refused, and who takes them is named", async () => {
    const dependencies = { left: "1" };
    expect(await refusal({ environment: "isolate", dependencies })).toContain("these take them: process");
    expect(await refusal({ language: "BASH", dependencies })).toContain("BASH cannot import");
  });

  it.each([
    ...["../up", "a/b", ".hidden", "_a", "@scope", "@a/../b", "@/x", "node_modules", "a b", "", "x".repeat(215), "a\0"],
    ...["__proto__", "a\nb", "%2e%2e", "a\\b", "é"],
  ])("with a name that is none are refused: %j", async (name) => {
    expect(await refusal({ dependencies: JSON.parse(`{${JSON.stringify(name)}:"1"}`) as object })).toContain(
      "is no name",
    );
  });

  it.each([
    ...["git+https://h.example/x.git", "github:a/b", "a/b", "https://h.example/x.tgz", "file:../x", "../x", ".", ".."],
    ...["npm:other@1", "link:x", "workspace:*", "x.tgz", "x.tar.gz", "~/x", "1\n2", "", "x".repeat(257), 1, null, {}],
  ])("from anywhere but the registry are refused: %j", async (range) => {
    expect(await refusal({ dependencies: { left: range } })).toContain("version");
  });

  it("that are too many, or no map, are refused", async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`p${i}`, "1"]));
    expect(await refusal({ dependencies: many })).toContain("at most 100");
    for (const dependencies of [["left"], "left", 1])
      expect(await refusal({ dependencies })).toContain("must be an object");
  });
});
