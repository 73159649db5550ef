import { listArtifactsOf, listEvents } from "@airlock/shared/db";
import { SESSION_LIMITS } from "@airlock/shared/domain";
import { StoreError } from "@airlock/shared/files";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFolderProvider } from "../../testing/folder-provider.ts";
import { openTestWorker, type TestWorker } from "../../testing/worker.ts";
import type { Context } from "../context.ts";
import type { SandboxProvider } from "../sandboxes/port.ts";
import { runSegment } from "./run-segment.ts";
import { chooseSessionFiles } from "./workspace.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await openTestWorker();
});
afterAll(() => worker.close());
const provider = createFolderProvider();

interface Wanted {
  readonly session?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly id?: string;
}

async function submit(code: string, { session, files = {} }: Wanted = {}): Promise<string> {
  const kept = Object.entries(files).map(async ([path, text]) => {
    const source = (async function* () {
      yield Buffer.from(text);
    })();
    return { path, ...(await worker.context.files.keep(worker.projectId, path, source, 1 << 20)) };
  });
  const text = `import fs from "node:fs"\n${code}`;
  return worker.submit({
    language: "JAVASCRIPT",
    code: text,
    session: session ?? null,
    files: await Promise.all(kept),
  });
}

async function run(id: string, more: Partial<Context> = {}, on: SandboxProvider = provider): Promise<void> {
  await runSegment({ ...worker.context, ...more }, on, await worker.claim(id));
}

async function runs(code: string, wanted: Wanted = {}): Promise<string> {
  const id = await submit(code, wanted);
  await run(id);
  return id;
}

const eventsOf = async (id: string) =>
  (await listEvents(worker.context.db, id, { after: 0, limit: 1_000 })).map(({ type, data }) => [
    type,
    JSON.parse(data) as unknown,
  ]);

async function artifactsOf(id: string): Promise<Record<string, string>> {
  const rows = (await listArtifactsOf(worker.context.db, [id])).get(id) ?? [];
  const read = rows.map(async (row) => {
    const bytes = await worker.context.files.bytes({ projectId: row.project_id, sha256: row.sha256, size: row.size });
    return [`${row.direction} ${row.name}`, String(bytes)] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

describe("a task with a work area", () => {
  it("finds its files there, and leaves what it made and printed, told before its end", async () => {
    const big = "b".repeat(100_000);
    const id = await runs(
      `fs.mkdirSync("out"); fs.writeFileSync("out/r.json", fs.readFileSync("in.txt", "utf8").toUpperCase());
       fs.writeFileSync("big", "b".repeat(100_000)); console.log("said"); console.error("warned");`,
      { files: { "in.txt": "given" } },
    );
    expect(await artifactsOf(id)).toEqual({
      "INPUT in.txt": "given",
      "OUTPUT big": big,
      "OUTPUT out/r.json": "GIVEN",
      "OUTPUT stdout.txt": "said\n",
      "OUTPUT stderr.txt": "warned\n",
    });
    const told = (await eventsOf(id)).filter(([type]) => type !== "task.output");
    expect(told.map(([type]) => type)).toEqual([
      "task.queued",
      "task.started",
      ...Array<string>(4).fill("artifact.added"),
      "task.succeeded",
    ]);
  });

  it("that fails leaves its files as well, and its own failure stands", async () => {
    const id = await runs('fs.writeFileSync("half", "done"); process.exit(3)');
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "GUEST_ERROR", exit_code: 3 });
    expect(await artifactsOf(id)).toEqual({ "OUTPUT half": "done" });
  });

  it("that made a file called stdout.txt keeps its own", async () => {
    const id = await runs('fs.writeFileSync("stdout.txt", "mine"); console.log("printed")');
    expect(await artifactsOf(id)).toEqual({ "OUTPUT stdout.txt": "mine" });
  });

  it("is told of what was left where it is, and why", async () => {
    const id = await runs('fs.symlinkSync("/etc/passwd", "link"); fs.writeFileSync("real", "")');
    expect(await artifactsOf(id)).toEqual({ "OUTPUT real": "" });
    expect(await eventsOf(id)).toContainEqual(["artifact.left", { name: "link", reason: "it is a symbolic link" }]);
  });

  it("that leaves thousands of odd things makes few events of them", async () => {
    const id = await runs('for (let i = 0; i < 500; i++) fs.symlinkSync("x", `link${i}`)');
    const left = (await eventsOf(id)).filter(([type]) => type === "artifact.left");
    expect(left).toHaveLength(21);
    expect(left.at(-1)?.[1]).toEqual({ name: null, reason: "480 more files were left" });
  });

  it("whose files no store takes did not succeed, and may be tried again", async () => {
    const files = { ...worker.context.files, keep: () => Promise.reject(new StoreError("the store is away")) };
    const id = await submit('fs.writeFileSync("f", "x")');
    await run(id, { files });
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "WORKSPACE_FAILED" });
    const failing = await submit('fs.writeFileSync("f", "x"); process.exit(1)');
    await run(failing, { files });
    expect(await worker.task(failing)).toMatchObject({ status: "FAILED", error_code: "GUEST_ERROR" });
    expect((await eventsOf(failing)).at(-2)).toMatchObject(["artifact.left", { name: null }]);
  });

  it("whose own files cannot be had is not run", async () => {
    const bytes = () => Promise.reject(new StoreError("a file is not in the store any more"));
    const id = await submit('console.log("ran")', { files: { f: "x" } });
    await run(id, { files: { ...worker.context.files, bytes } });
    expect(await worker.task(id)).toMatchObject({ status: "FAILED", error_code: "WORKSPACE_FAILED" });
    expect((await eventsOf(id)).map(([type]) => type)).toEqual(["task.queued", "task.started", "task.failed"]);
  });

  it("that was taken over leaves nothing: its files are those of the worker that owns it now", async () => {
    const id = await submit('fs.writeFileSync("f", "x")');
    const taken: SandboxProvider = {
      ...provider,
      acquire: async (request) => {
        const lease = await provider.acquire(request);
        return {
          ...lease,
          async *outputs(bounds) {
            await sql`update tasks set segments = segments + 1 where id = ${id}`.execute(worker.context.db);
            yield* lease.outputs(bounds);
          },
        };
      },
    };
    await run(id, {}, taken);
    expect(await artifactsOf(id)).toEqual({});
    expect(await worker.task(id)).toMatchObject({ status: "RUNNING" });
  });
});

describe("a session", () => {
  it("its later tasks find the newest of what earlier ones left; what they leave alone is not theirs", async () => {
    const session = "relay";
    await runs('fs.writeFileSync("a", "1"); fs.writeFileSync("b", "1")', { session });
    await runs('fs.writeFileSync("b", fs.readFileSync("a", "utf8") + "2")', { session });
    const third = await runs('console.log(fs.readdirSync(".").join(), fs.readFileSync("b", "utf8"))', { session });
    expect(await artifactsOf(third)).toEqual({ "OUTPUT stdout.txt": "a,b 12\n" });
  });

  it("a task's own file stands above the session's, and other sessions and projects see nothing", async () => {
    await runs('fs.writeFileSync("f", "session")', { session: "mine" });
    const show = 'console.log(fs.existsSync("f") ? fs.readFileSync("f", "utf8") : "nothing")';
    const own = await runs(show, { session: "mine", files: { f: "own" } });
    expect((await artifactsOf(own))["OUTPUT stdout.txt"]).toBe("own\n");
    for (const wanted of [{ session: "yours" }, {}]) {
      expect((await artifactsOf(await runs(show, wanted)))["OUTPUT stdout.txt"]).toBe("nothing\n");
    }
  });

  it("a re-run finds what the first run found, whatever was left meanwhile", async () => {
    const session = "again";
    await runs('fs.writeFileSync("f", "before")', { session });
    const id = await submit('console.log(fs.readFileSync("f", "utf8"))', { session });
    const lost: SandboxProvider = {
      ...provider,
      acquire: async (request) => {
        const lease = await provider.acquire(request);
        const start: typeof lease.start = (...given) => ({
          ...lease.start(...given),
          outcome: Promise.resolve({ kind: "lost", reason: "a test" }),
        });
        return { ...lease, start };
      },
    };
    await run(id, {}, lost);
    await runs('fs.writeFileSync("f", "after"); fs.writeFileSync("g", "new")', { session });
    await run(id);
    expect(await worker.task(id)).toMatchObject({ status: "SUCCEEDED", segments: 2 });
    expect((await artifactsOf(id))["OUTPUT stdout.txt"]).toBe("before\n");
  });
});

describe("which files of a session a task gets", () => {
  const file = (path: string, size = 1) => ({ path, size, sha256: Buffer.alloc(32) });
  const chosen = (found: ReturnType<typeof file>[], own: string[] = []) => {
    const { chosen, left } = chooseSessionFiles(found, own);
    return [chosen.map(({ path }) => path), left];
  };

  it("the newest where one is the folder of another, in both directions, and always the task's own", () => {
    expect(chosen([file("a/b"), file("a"), file("c"), file("c/d")])).toEqual([["a/b", "c"], 0]);
    expect(chosen([file("a/b"), file("c"), file("d")], ["a", "c/x", "d"])).toEqual([[], 0]);
  });

  it("as many as there is room for, the newest first; smaller ones may still find room", () => {
    const many = Array.from({ length: SESSION_LIMITS.files + 3 }, (_, i) => file(`f${i}`));
    expect(chosen(many)[1]).toBe(3);
    expect(chosen([file("a", SESSION_LIMITS.bytes - 1), file("b", 2), file("c", 1)])).toEqual([["a", "c"], 1]);
  });
});
