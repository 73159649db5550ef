import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startS3Double, type S3Double } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Rig, startRig } from "./rig.ts";

interface Ended {
  readonly status: string;
  readonly output: unknown;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly artifacts: { readonly name: string; readonly direction: string; readonly url: string }[];
}

const home = mkdtempSync(path.join(tmpdir(), "airlock-e2e-files-"));
afterAll(() => rmSync(home, { recursive: true }));

describe.each(["disk", "S3"] as const)("files of a fleet with its store on %s", (kind) => {
  let s3: S3Double;
  let rig: Rig;
  beforeAll(async () => {
    s3 = await startS3Double();
    const { accessKeyId, secretAccessKey } = s3.credentials;
    const bucket = { AIRLOCK_ARTIFACTS: "s3://bucket/fleet", AIRLOCK_S3_ENDPOINT: s3.endpoint };
    const credentials = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const env = kind === "disk" ? { AIRLOCK_ARTIFACTS: home } : { ...bucket, ...credentials };
    rig = await startRig("Postgres alone", { env });
  });
  afterAll(async () => {
    await rig.stop();
    await s3.close();
  });

  async function run(input: object): Promise<Ended> {
    const { submitTask } = await rig.api<{ submitTask: { id: string } }>(
      "mutation ($input: SubmitTaskInput!) { submitTask(input: $input) { id } }",
      { input },
    );
    const query =
      "query ($id: ID!) { task(id: $id) { status output error { code message } artifacts { name direction url } } }";
    const look = async () => (await rig.api<{ task: Ended }>(query, submitTask)).task;
    await expect.poll(async () => (await look()).status, { timeout: 50_000 }).toMatch(/SUCCEEDED|FAILED/);
    return look();
  }

  it("an isolate reads what it was given, however large, and later tasks of its session what it put", async () => {
    const files = [
      { path: "small.txt", content: "small" },
      { path: "large.txt", content: "large ".repeat(100_000) },
    ];
    const code = `
      const [small, large] = await Promise.all(["small.txt", "large.txt"].map((name) => tools.artifacts.get({ name })));
      await tools.artifacts.put({ name: "sum", content: String(small.content.length + large.content.length) });
      return large.size`;
    const first = await run({ code, files, session: "s" });
    expect(first).toMatchObject({ status: "SUCCEEDED", output: 600_000 });
    expect(first.artifacts.map(({ name, direction }) => [direction, name])).toEqual([
      ["INPUT", "large.txt"],
      ["INPUT", "small.txt"],
      ["OUTPUT", "sum"],
    ]);
    const second = await run({ code: 'return (await tools.artifacts.get({ name: "sum" })).content', session: "s" });
    expect(second).toMatchObject({ status: "SUCCEEDED", output: "600005" });
    expect(kind === "disk" ? readdirSync(home) : [...s3.objects.keys()].map((key) => key.split("/")[1])).toContain(
      kind === "disk" ? "incoming" : "fleet",
    );
  });

  it("a file of a task above what a call may answer is told as such", async () => {
    const files = [{ path: "huge", content: "x".repeat(2 * 1024 * 1024) }];
    const task = await run({ code: 'return await tools.artifacts.get({ name: "huge" })', files });
    expect(task.error).toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("2097152 bytes") as string,
    });
  });
});
