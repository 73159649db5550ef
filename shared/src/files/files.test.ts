import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createTestDatabase,
  newTask,
  openTestDatabase,
  startS3Double,
  type TestDatabase,
} from "../../testing/index.ts";
import { newId, smallestIdAt } from "../contracts/index.ts";
import { type Database, deleteExpiredTasks, insertArtifacts, insertTasks, type KeptContent } from "../db/index.ts";
import {
  createDiskStore,
  createFiles,
  createS3Store,
  type Files,
  INLINE_BYTES,
  type Store,
  TooManyBytes,
} from "./index.ts";

const root = mkdtempSync(path.join(tmpdir(), "airlock-files-"));
const store = createDiskStore(root);
let database: TestDatabase;
let db: Database;
let projectId: string;
let files: Files;
beforeAll(async () => {
  database = await createTestDatabase();
  ({ db, projectId } = await openTestDatabase(database.url));
  files = createFiles(db, store);
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
  rmSync(root, { recursive: true });
});

const keep = (bytes: Buffer, name = "f", project = projectId, into = files) =>
  into.keep(project, name, Readable.from([bytes.subarray(0, 10), bytes.subarray(10)]), 1024 * 1024);
const attach = async (content: KeptContent, taskId = newId(), session: string | null = null): Promise<string> => {
  await insertArtifacts(db, [{ projectId, taskId, session, name: "f", direction: "OUTPUT", content }]);
  return taskId;
};
const large = (): Buffer => randomBytes(INLINE_BYTES + 1);
const placeOf = ({ sha256 }: KeptContent, project = projectId): string => {
  const hex = sha256.toString("hex");
  return path.join(root, project, hex.slice(0, 2), hex);
};
const rowsOf = async ({ sha256 }: KeptContent): Promise<number> =>
  (await db.selectFrom("contents").select("size").where("sha256", "=", sha256).execute()).length;
const makeDue = () => sql`update contents set check_at = now() where check_at is not null`.execute(db);

it.each([0, 1, INLINE_BYTES, INLINE_BYTES + 1, 300_000])("%d bytes come back as they went in", async (size) => {
  const bytes = randomBytes(size);
  const content = await keep(bytes);
  await attach(content);
  const ref = { projectId, sha256: content.sha256, size };
  expect((await files.bytes(ref)).equals(bytes)).toBe(true);
  if (size < 2) return;
  expect((await buffer(await files.open(ref, { start: 1, end: 1 }))).equals(bytes.subarray(1, 2))).toBe(true);
  expect(existsSync(placeOf(content))).toBe(size > INLINE_BYTES);
});

it("too many bytes are refused while they come, and leave nothing behind", async () => {
  const endless = async function* () {
    for (;;) yield Buffer.alloc(64 * 1024);
  };
  await expect(files.keep(projectId, "f", endless(), 500_000)).rejects.toBeInstanceOf(TooManyBytes);
  const broken = async function* () {
    yield large();
    throw new Error("the sandbox went away");
  };
  await expect(files.keep(projectId, "f", broken(), 500_000)).rejects.toThrow("went away");
  expect(readdirSync(path.join(root, "incoming"))).toEqual([]);
});

it("on its way to S3 a file has no name, so that nothing of it outlives a program that is killed", async () => {
  const s3 = await startS3Double();
  const folder = mkdtempSync(path.join(root, "tmp-"));
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder;
  try {
    const options = { endpoint: s3.endpoint, bucket: "bucket", prefix: "", region: "us-east-1", sessionToken: null };
    const inS3 = createFiles(db, createS3Store({ ...options, ...s3.credentials }));
    const bytes = Buffer.concat([large(), large(), large()]);
    const seen: string[][] = [];
    const slow = async function* () {
      for (let at = 0; at < bytes.length; at += 20_000) {
        yield bytes.subarray(at, at + 20_000);
        seen.push(readdirSync(folder));
      }
    };
    const { sha256, size } = await inS3.keep(projectId, "f", slow(), 1024 * 1024);
    expect([seen.length > 3, seen.flat()]).toEqual([true, []]);
    expect((await inS3.bytes({ projectId, sha256, size })).equals(bytes)).toBe(true);
    s3.fail("500", "reset");
    await inS3.keep(projectId, "f", Readable.from([large(), large()]), 1024 * 1024);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    await s3.close();
  }
});

it("what a file is follows from all its bytes, however they are cut", async () => {
  const typeOf = async (name: string, ...chunks: Buffer[]): Promise<string> =>
    (await files.keep(projectId, name, Readable.from(chunks), 100_000)).contentType;
  const euro = Buffer.from("€");
  expect(await typeOf("a.txt", euro.subarray(0, 1), euro.subarray(1))).toBe("text/plain");
  expect(await typeOf("a.txt", euro.subarray(0, 2))).toBe("application/octet-stream");
  expect(await typeOf("a.csv", Buffer.from("a,b"), Buffer.from("\0"))).toBe("application/octet-stream");
  expect(await typeOf("a.txt", Buffer.from("\x89PN", "latin1"), Buffer.from("G\r\n\x1a\nx", "latin1"))).toBe(
    "image/png",
  );
});

it("an artifact cannot be made of bytes that nobody has taken in", async () => {
  const content = { size: 5, sha256: randomBytes(32), contentType: "text/plain", inline: null };
  await expect(attach(content)).rejects.toThrow(/artifacts_content/);
});

it("bytes that nobody came to use are deleted after their hour, and not before", async () => {
  const content = await keep(large());
  await files.sweep(100);
  expect([await rowsOf(content), existsSync(placeOf(content))]).toEqual([1, true]);
  await makeDue();
  await files.sweep(100);
  expect([await rowsOf(content), existsSync(placeOf(content))]).toEqual([0, false]);
});

it("bytes that two artifacts have live until both are gone, each project's for itself", async () => {
  const bytes = large();
  const content = await keep(bytes);
  const other = newId();
  await keep(bytes, "f", other);
  const [one, two] = [await attach(content), await attach(content)];
  const forget = async (taskId: string): Promise<void> => {
    await db.deleteFrom("artifacts").where("task_id", "=", taskId).execute();
    await sql`update contents set check_at = now()`.execute(db);
    await files.sweep(100);
  };
  await forget(one);
  expect(existsSync(placeOf(content))).toBe(true);
  expect(existsSync(placeOf(content, other))).toBe(false);
  await forget(two);
  expect([await rowsOf(content), existsSync(placeOf(content))]).toEqual([0, false]);
});

it("what an expired task alone had is deleted with it; what a session has stays", async () => {
  const id = smallestIdAt(new Date(Date.now() - 40 * 86_400_000));
  const [mine, sessions, shared, small] = [large(), large(), large(), Buffer.from("small, and only here")];
  const contents = await Promise.all([mine, sessions, shared, small].map((bytes) => keep(bytes)));
  const [own, ofSession, both, inline] = contents as [KeptContent, KeptContent, KeptContent, KeptContent];
  await insertTasks(db, [newTask(projectId, { id, files: [{ path: "in", ...own }] })], 10);
  await attach(ofSession, id, "s");
  await attach(both, id);
  await attach(inline, id);
  await attach(both);
  await sql`update tasks set status = 'SUCCEEDED', finished_at = now() - interval '35 days' where id = ${id}`.execute(
    db,
  );
  expect(await deleteExpiredTasks(db, { id: projectId, retentionDays: 30 }, 10)).toBe(1);
  await makeDue();
  while ((await files.sweep(1)) > 0);
  expect(await Promise.all(contents.map(rowsOf))).toEqual([0, 1, 1, 0]);
  expect([own, ofSession, both].map((content) => existsSync(placeOf(content)))).toEqual([false, true, true]);
});

it("bytes that are taken in again while they are deleted are there afterwards", async () => {
  const bytes = large();
  const content = await keep(bytes);
  await makeDue();
  const deleting = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow: Store = {
    ...store,
    remove: async (key) => {
      deleting.resolve();
      await goOn.promise;
      await store.remove(key);
    },
  };
  const swept = createFiles(db, slow).sweep(100);
  await deleting.promise;
  const again = keep(bytes);
  goOn.resolve();
  await swept;
  await attach(await again);
  expect((await files.bytes({ projectId, ...content })).equals(bytes)).toBe(true);
});

it("a store that does not delete now keeps the rows that say what is to be deleted", async () => {
  const content = await keep(large());
  await makeDue();
  const away: Store = { ...store, remove: () => Promise.reject(new Error("away")) };
  await expect(createFiles(db, away).sweep(100)).rejects.toThrow("away");
  expect(await rowsOf(content)).toBe(1);
  await files.sweep(100);
  expect([await rowsOf(content), existsSync(placeOf(content))]).toEqual([0, false]);
});

it("many at once with the same contents do not wait for each other for ever", async () => {
  const contents = await Promise.all(Array.from({ length: 20 }, (_, i) => keep(Buffer.from(`same ${i}`))));
  const one = (shuffled: KeptContent[]) =>
    insertArtifacts(
      db,
      shuffled.map((content, i) => ({
        projectId,
        taskId: newId(),
        session: null,
        name: `f${i}`,
        direction: "OUTPUT" as const,
        content,
      })),
    );
  await Promise.all(Array.from({ length: 20 }, (_, i) => one(i % 2 === 0 ? contents : contents.toReversed())));
});
