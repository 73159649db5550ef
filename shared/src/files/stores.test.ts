import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startS3Double, type S3Double } from "../../testing/index.ts";
import { newId } from "../contracts/index.ts";
import { chooseStore, createDiskStore, createS3Store, type Store, storeEnv } from "./index.ts";
import { parseEnvWith } from "../runtime/index.ts";
import { z } from "zod";

const home = mkdtempSync(path.join(tmpdir(), "airlock-stores-"));
let s3: S3Double;
beforeAll(async () => {
  s3 = await startS3Double();
});
afterAll(async () => {
  await s3.close();
  rmSync(home, { recursive: true });
});

/** A file on its way in. */
async function arrive(store: Store, bytes: Buffer) {
  // As in the store's own folder, so that it can be renamed, but gone with this test wherever it is left.
  const file = path.join(store.kind === "disk" ? await store.incoming() : home, newId());
  await writeFile(file, bytes);
  return { path: file, size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

const s3Store = (more: Partial<Parameters<typeof createS3Store>[0]> = {}): Store =>
  createS3Store({
    endpoint: s3.endpoint,
    bucket: "bucket",
    prefix: "some/prefix/",
    region: "us-east-1",
    ...s3.credentials,
    sessionToken: null,
    ...more,
  });

describe.each([
  ["a folder", () => createDiskStore(path.join(home, "store"))],
  ["S3", () => s3Store()],
  ["S3 with a session token", () => s3Store({ sessionToken: "a/session+token==" })],
])("%s as store", (_, make) => {
  it("gives back what was put, whole and in part, byte for byte", async () => {
    const store = make();
    await store.check();
    const projectId = newId();
    for (const size of [0, 1, 3_000_000]) {
      const bytes = randomBytes(size);
      const file = await arrive(store, bytes);
      await store.put(projectId, file);
      const key = { projectId, sha256: file.sha256 };
      expect((await buffer(await store.read(key))).equals(bytes)).toBe(true);
      if (size < 100) continue;
      expect((await buffer(await store.read(key, { start: 10, end: 99 }))).equals(bytes.subarray(10, 100))).toBe(true);
      expect(await buffer(await store.read(key, { start: size - 1, end: size - 1 }))).toEqual(bytes.subarray(-1));
    }
  });

  it("the same content put twice, at once, is one content; removed twice is no error", async () => {
    const store = make();
    const projectId = newId();
    const bytes = randomBytes(50_000);
    const [one, two] = [await arrive(store, bytes), await arrive(store, bytes)];
    await Promise.all([store.put(projectId, one), store.put(projectId, two)]);
    const key = { projectId, sha256: one.sha256 };
    expect((await buffer(await store.read(key))).equals(bytes)).toBe(true);
    await store.remove(key);
    await store.remove(key);
    await expect(store.read(key)).rejects.toThrow("is not in the store any more");
  });

  it("another project does not find it under the same hash", async () => {
    const store = make();
    const file = await arrive(store, randomBytes(100));
    await store.put(newId(), file);
    await expect(store.read({ projectId: newId(), sha256: file.sha256 })).rejects.toMatchObject({ name: "StoreError" });
  });
});

describe("a folder", () => {
  it("is nobody's but ours, and nothing stays in what is on its way in", async () => {
    const root = path.join(home, "private");
    const store = createDiskStore(root);
    await store.put(newId(), await arrive(store, Buffer.from("x")));
    expect(statSync(root).mode & 0o77).toBe(0);
    expect(readdirSync(path.join(root, "incoming"))).toEqual([]);
  });

  it("that cannot be written says so, when asked and when used", async () => {
    writeFileSync(path.join(home, "a file"), "");
    const store = createDiskStore(path.join(home, "a file", "store"));
    await expect(store.incoming()).rejects.toMatchObject({ name: "StoreError" });
    await expect(store.check()).rejects.toMatchObject({ name: "StoreError" });
  });

  it("is not made before there is something to put in", async () => {
    await createDiskStore(path.join(home, "unused")).check();
    expect(existsSync(path.join(home, "unused"))).toBe(false);
  });
});

describe("S3", () => {
  it.each(["500", "503", "429", "reset"] as const)("passes by itself: %s, twice in a row", async (fault) => {
    const store = s3Store();
    const projectId = newId();
    const bytes = randomBytes(200_000);
    const file = await arrive(store, bytes);
    s3.fail(fault, fault);
    await store.put(projectId, file);
    s3.fail(fault, fault);
    expect((await buffer(await store.read({ projectId, sha256: file.sha256 }))).equals(bytes)).toBe(true);
    s3.fail(fault, fault);
    await store.remove({ projectId, sha256: file.sha256 });
  });

  it("one that does not answer is not waited for for ever, and asked again", async () => {
    const store = s3Store({ patienceMs: 300 });
    s3.fail("hang");
    await store.check();
  });

  it("a broken one is told as such in the end, without a secret in the message", async () => {
    const store = s3Store();
    s3.fail("500", "500", "500", "500");
    const failure = await store.check().catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ name: "StoreError" });
    expect(String((failure as Error).stack)).not.toContain(s3.credentials.secretAccessKey);
  });

  it("a download that is cut fails and is not taken for a short file", async () => {
    const store = s3Store();
    const projectId = newId();
    const file = await arrive(store, randomBytes(100_000));
    await store.put(projectId, file);
    s3.fail("cut");
    await expect(store.read({ projectId, sha256: file.sha256 }).then(buffer)).rejects.toThrow();
  });

  it("the double refuses what a real one refuses: wrong secrets, other bytes than were signed", async () => {
    await expect(s3Store({ secretAccessKey: "guessed" }).check()).rejects.toThrow("403");
    await expect(s3Store({ accessKeyId: "somebody" }).check()).rejects.toThrow("403");
    const store = s3Store();
    const file = await arrive(store, Buffer.from("these"));
    await writeFile(file.path, "those");
    await expect(store.put(newId(), file)).rejects.toThrow("403");
  });
});

describe("what the environment says", () => {
  const choose = (source: Record<string, string>): Store => chooseStore(parseEnvWith(z.object(storeEnv), source));
  it.each([
    [{}, "disk"],
    [{ AIRLOCK_ARTIFACTS: "/srv/files" }, "disk"],
    [{ AIRLOCK_ARTIFACTS: "s3://bucket/a/b", AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" }, "s3"],
  ])("%j is a %s store", (source, kind) => {
    expect(choose(source as Record<string, string>).kind).toBe(kind);
  });

  it.each([
    [{ AIRLOCK_ARTIFACTS: "s3://bucket" }, /AWS_ACCESS_KEY_ID/],
    [{ AIRLOCK_ARTIFACTS: "s3://Bad_Bucket", AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" }, /s3:\/\/bucket/],
    [{ AIRLOCK_S3_ENDPOINT: "minio:9000" }, /AIRLOCK_S3_ENDPOINT/],
  ])("%j is refused at the start", (source, message) => {
    expect(() => choose(source as Record<string, string>)).toThrow(message);
  });
});
