import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { newId } from "@airlock/shared/contracts";
import { insertOutput } from "@airlock/shared/db";
import { startS3Double, type S3Double } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { FORK, SUBMIT, SUBMIT_BATCH, type Submitted } from "../../testing/operations.ts";
import { parkTask } from "../../testing/parked-task.ts";

const home = mkdtempSync(path.join(tmpdir(), "airlock-files-in-"));
let gateway: TestGateway;
let client: Client;
let projectId: string;
beforeAll(async () => {
  gateway = await startTestGateway({ store: { AIRLOCK_ARTIFACTS: home } });
  ({ client, projectId } = await gateway.tenant("giver"));
});
afterAll(async () => {
  await gateway.stop();
  rmSync(home, { recursive: true });
});

interface File {
  readonly path: string;
  readonly content?: string;
  readonly base64?: string;
}
const submit = (files: unknown, more = {}) => client.send<Submitted>(SUBMIT, { input: { code: "1", files, ...more } });
const FILES = "query ($id: ID!) { task(id: $id) { artifacts { name direction size contentType url } } }";
const filesOf = async (id: string) =>
  (await client.data<{ task: { artifacts: { name: string; url: string }[] } }>(FILES, { id })).task.artifacts;
const countTasks = async (): Promise<number> =>
  (await gateway.db.selectFrom("tasks").select("id").where("project_id", "=", projectId).execute()).length;

it("files that come with a task are its inputs, text and bytes, small and large", async () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251));
  const given: File[] = [
    { path: "data/in.csv", content: "a,b\n1,2\n" },
    { path: "raw", base64: bytes.toString("base64") },
    { path: ".empty", content: "" },
  ];
  const { data } = await submit(given);
  const files = await filesOf(data?.submitTask.id ?? "");
  expect(files).toMatchObject([
    { name: ".empty", direction: "INPUT", size: 0 },
    { name: "data/in.csv", direction: "INPUT", size: 8, contentType: "text/csv" },
    { name: "raw", direction: "INPUT", size: 100_000, contentType: "application/octet-stream" },
  ]);
  const download = await client.raw({ path: files[2]?.url ?? "" });
  expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true);
});

describe("refused, with the file named, and nothing is submitted", () => {
  const file = (name: string): File[] => [
    { path: "fine.txt", content: "" },
    { path: name, content: "x" },
  ];
  it.each([
    [
      "",
      "/etc/passwd",
      "../up",
      "a/../../b",
      "a/./b",
      ".",
      "..",
      "a//b",
      "a/",
      "a\\..\\b",
      "C:\\x",
      "a\0b",
      "a\nb",
      "\x7f",
    ],
    ["\ud800", "x".repeat(513), Array(40).fill("d").join("/"), "ü".repeat(200)],
  ])("a path that is none: %j", async (...names) => {
    for (const name of names) {
      const { errors } = await submit(file(name));
      expect([name, errors?.[0]?.extensions.code, errors?.[0]?.message]).toEqual([
        name,
        "BAD_INPUT",
        expect.stringContaining("files[1]"),
      ]);
    }
  });

  it.each<[string, File[], string]>([
    ["a path twice", [...file("a"), { path: "a", content: "y" }], "BAD_INPUT"],
    ["a file that is a folder of another", [...file("a/b/c"), { path: "a/b", content: "y" }], "BAD_INPUT"],
    ["neither text nor bytes", [{ path: "a" }], "BAD_INPUT"],
    ["both", [{ path: "a", content: "", base64: "" }], "BAD_INPUT"],
    ["base64 that is none", [{ path: "a", base64: "YQ=*" }], "BAD_INPUT"],
    ["half a surrogate pair", [{ path: "a", content: "\ud800" }], "BAD_INPUT"],
    ["too large a file", [{ path: "a", content: "x".repeat(8 * 1024 * 1024 + 1) }], "TOO_LARGE"],
    ["too much together", ["a", "b", "c"].map((name) => ({ path: name, content: "x".repeat(6 << 20) })), "TOO_LARGE"],
    ["too many", Array.from({ length: 101 }, (_, i) => ({ path: `f${i}`, content: "" })), "TOO_LARGE"],
  ])("%s", async (_, files, code) => {
    const before = await countTasks();
    const { errors } = await submit(files);
    expect(errors?.[0]).toMatchObject({ extensions: { code }, message: expect.stringContaining("files") as string });
    expect(await countTasks()).toBe(before);
  });

  it("one bad file in a batch, with its task named", async () => {
    const before = await countTasks();
    const tasks = [
      { code: "1", files: file("ok") },
      { code: "1", files: file("../no") },
    ];
    const { message } = await client.failure(SUBMIT_BATCH, { input: { tasks } });
    expect(message).toContain("tasks[1].files[1]");
    expect(await countTasks()).toBe(before);
  });
});

it("letters' case counts, as it does in the sandbox", async () => {
  const { data } = await submit([
    { path: "A", content: "1" },
    { path: "a", content: "2" },
  ]);
  expect((await filesOf(data?.submitTask.id ?? "")).map(({ name }) => name)).toEqual(["A", "a"]);
});

it("a batch of many with the same large file keeps it once", async () => {
  const content = "the same for all ".repeat(5_000);
  const tasks = Array.from({ length: 50 }, () => ({ code: "1", files: [{ path: "shared.txt", content }] }));
  await client.data(SUBMIT_BATCH, { input: { tasks } });
  const rows = await gateway.db.selectFrom("contents").select("size").where("size", "=", content.length).execute();
  expect(rows).toHaveLength(1);
});

it("files belong to what an idempotency key stands for", async () => {
  const key = { idempotencyKey: "with-files" };
  const first = await submit([{ path: "a", content: "1" }], key);
  expect((await submit([{ path: "a", base64: "MQ==" }], key)).data).toEqual(first.data);
  for (const files of [[{ path: "a", content: "2" }], [{ path: "b", content: "1" }], []]) {
    expect((await submit(files, key)).errors?.[0]?.extensions.code).toBe("CONFLICT");
  }
});

it("a retry has the files of the task that it repeats", async () => {
  const content = "again ".repeat(10_000);
  const { data } = await submit([{ path: "in.txt", content }]);
  const id = data?.submitTask.id ?? "";
  await client.data("mutation ($id: ID!) { cancelTask(id: $id) { id } }", { id });
  const retry = "mutation ($id: ID!) { retryTask(id: $id) { id } }";
  const { retryTask } = await client.data<{ retryTask: { id: string } }>(retry, { id });
  const [file] = await filesOf(retryTask.id);
  expect(await (await client.raw({ path: file?.url ?? "" })).text()).toBe(content);
});

it("a fork has the files of the task that it was made from, and what was newest in the session stays so", async () => {
  const { id: taskId } = await parkTask(gateway.db, projectId);
  const put = (name: string, text: string, task = taskId) =>
    insertOutput(gateway.db, {
      projectId,
      taskId: task,
      session: "forked",
      name,
      contentType: "text/plain",
      bytes: Buffer.from(text),
    });
  await put("f", "older");
  await put("f", "newer", newId());
  const { forkTask } = await client.data<{ forkTask: { id: string } }>(FORK, { id: taskId });
  const [file] = await filesOf(forkTask.id);
  expect(await (await client.raw({ path: file?.url ?? "" })).text()).toBe("older");
  const { sessionArtifacts } = await client.data<{ sessionArtifacts: { url: string }[] }>(
    '{ sessionArtifacts(session: "forked") { url } }',
  );
  expect(sessionArtifacts).toHaveLength(1);
  expect(await (await client.raw({ path: sessionArtifacts[0]?.url ?? "" })).text()).toBe("newer");
});

describe("on S3", () => {
  let s3: S3Double;
  let second: TestGateway;
  beforeAll(async () => {
    s3 = await startS3Double();
    const { accessKeyId, secretAccessKey } = s3.credentials;
    const credentials = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const store = { AIRLOCK_ARTIFACTS: "s3://bucket", AIRLOCK_S3_ENDPOINT: s3.endpoint, ...credentials };
    second = await startTestGateway({ store });
  });
  afterAll(async () => {
    await second.stop();
    await s3.close();
  });
  const input = { code: "1", files: [{ path: "big", content: "x".repeat(100_000) }] };

  it("a file goes there and comes back, in parts too", async () => {
    const { submitTask } = await second.admin.data<Submitted>(SUBMIT, { input });
    const { task } = await second.admin.data<{ task: { artifacts: { url: string }[] } }>(FILES, { id: submitTask.id });
    const at = task.artifacts[0]?.url ?? "";
    expect(await (await second.admin.raw({ path: at })).text()).toBe("x".repeat(100_000));
    const part = await second.admin.raw({ path: at, headers: { range: "bytes=-3" } });
    expect([part.status, await part.text()]).toEqual([206, "xxx"]);
    expect(s3.objects.size).toBe(1);
  });

  it("where it does not answer, nothing is submitted and the caller may try again", async () => {
    s3.fail("503", "503", "503", "503");
    expect(await second.admin.failure(SUBMIT, { input })).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    const small = { ...input, files: [{ path: "small", content: "x" }] };
    await second.admin.data<Submitted>(SUBMIT, { input: small });
  });

  it("a download that breaks on the way is cut, not completed; one that cannot begin says so", async () => {
    const { submitTask } = await second.admin.data<Submitted>(SUBMIT, { input });
    const { task } = await second.admin.data<{ task: { artifacts: { url: string }[] } }>(FILES, { id: submitTask.id });
    const at = task.artifacts[0]?.url ?? "";
    s3.fail("cut");
    await expect(second.admin.raw({ path: at }).then((response) => response.text())).rejects.toThrow();
    s3.fail("500", "500", "500", "500");
    expect((await second.admin.raw({ path: at })).status).toBe(503);
  });
});
