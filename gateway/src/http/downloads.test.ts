import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { newId } from "@airlock/shared/contracts";
import { insertArtifacts } from "@airlock/shared/db";
import { createDiskStore, createFiles } from "@airlock/shared/files";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";

const home = mkdtempSync(path.join(tmpdir(), "airlock-downloads-"));
let gateway: TestGateway;
let tenant: { projectId: string; key: string; client: Client };
beforeAll(async () => {
  gateway = await startTestGateway({ store: { AIRLOCK_ARTIFACTS: home } });
  tenant = await gateway.tenant("reader");
});
afterAll(async () => {
  await gateway.stop();
  rmSync(home, { recursive: true });
});

async function put(bytes: Buffer): Promise<string> {
  const { projectId } = tenant;
  const files = createFiles(gateway.db, createDiskStore(home));
  const content = await files.keep(projectId, "f", Readable.from([bytes]), bytes.length);
  const artifact = { projectId, taskId: newId(), session: null, name: "f", direction: "OUTPUT" as const, content };
  const [id = ""] = await insertArtifacts(gateway.db, [artifact]);
  return id;
}
const get = (id: string, headers: Record<string, string> = {}, method = "GET") =>
  tenant.client.raw({ path: `/artifacts/${id}`, method, headers });
const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

describe.each([
  ["a small file", 1_000],
  ["a large file", 300_000],
])("%s", (_, size) => {
  const bytes = randomBytes(size);
  let id: string;
  beforeAll(async () => {
    id = await put(bytes);
  });

  test("comes whole, with its length and its hash", async () => {
    const response = await get(id);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-length")).toBe(String(size));
    expect(response.headers.get("accept-ranges")).toBe("bytes");
    expect((await bytesOf(response)).equals(bytes)).toBe(true);
    expect((await get(id, { "if-none-match": response.headers.get("etag") ?? "" })).status).toBe(304);
    expect((await get(id, { "if-none-match": '"other"' })).status).toBe(200);
  });

  test.each([
    ["bytes=0-0", 0, 1],
    ["bytes=10-19", 10, 20],
    ["bytes=990-", 990, undefined],
    ["bytes=-5", -5, undefined],
    ["bytes=-99999999", 0, undefined],
    ["bytes=999-99999999999", 999, undefined],
  ])("comes in part: %s", async (range, start, end) => {
    const response = await get(id, { range });
    const part = bytes.subarray(start, end);
    expect(response.status).toBe(206);
    expect(response.headers.get("content-length")).toBe(String(part.length));
    const first = start < 0 ? size + start : start;
    expect(response.headers.get("content-range")).toBe(`bytes ${first}-${first + part.length - 1}/${size}`);
    expect((await bytesOf(response)).equals(part)).toBe(true);
    const head = await get(id, { range }, "HEAD");
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([206, `${part.length}`, ""]);
  });

  test.each(["bytes=5-1", "bytes=a-b", "bytes=-", "bytes=0-1,5-6", "lines=1-2", "bytes=1-2-3"])(
    "comes whole where the range is none that we serve: %s",
    async (range) => {
      const response = await get(id, { range });
      expect([response.status, (await bytesOf(response)).length]).toEqual([200, size]);
    },
  );

  test("begins anew where it was another file before", async () => {
    const etag = (await get(id)).headers.get("etag") ?? "";
    expect((await get(id, { range: "bytes=1-2", "if-range": etag })).status).toBe(206);
    expect((await get(id, { range: "bytes=1-2", "if-range": '"other"' })).status).toBe(200);
  });

  test("has nothing behind its end", async () => {
    for (const range of [`bytes=${size}-`, "bytes=-0"]) {
      const response = await get(id, { range });
      expect([response.status, response.headers.get("content-range")]).toEqual([416, `bytes */${size}`]);
    }
  });
});

test("an empty file is one", async () => {
  const response = await get(await put(Buffer.alloc(0)));
  expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "0", ""]);
});

test("a file whose bytes were lost says so, and a task's other files still come", async () => {
  const id = await put(randomBytes(100_000));
  rmSync(path.join(home, tenant.projectId), { recursive: true });
  const response = await get(id);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: "UNAVAILABLE" } }] });
  expect((await get(await put(randomBytes(100_000)))).status).toBe(200);
});

test("a reader that stops reading holds neither memory nor, once it is gone, a file", async () => {
  const id = await put(randomBytes(64 * 1024 * 1024));
  const openFiles = (): string[] =>
    readdirSync("/proc/self/fd").flatMap((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return [];
      }
    });
  const held = (): number => openFiles().filter((file) => file.startsWith(home)).length;
  const before = process.memoryUsage().arrayBuffers;
  const readers = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      socket.write(`GET /artifacts/${id} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tenant.key}\r\n\r\n`);
      await new Promise((resolve) => socket.once("readable", resolve));
      return socket;
    }),
  );
  await expect.poll(held, { timeout: 30_000 }).toBe(4);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  for (const socket of readers) socket.destroy();
  await expect.poll(held, { timeout: 30_000 }).toBe(0);
});

test("no spelling of a path leads to a file of the host", async () => {
  const id = await put(Buffer.from("x"));
  const spellings = [
    "../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "%252e%252e%252fetc%252fpasswd",
    "..\\..\\etc\\passwd",
    "..%5c..%5cetc%5cpasswd",
    "..%c0%afetc/passwd",
    "%00",
    `${id}%00`,
    `${id}/../${id}`,
    `${id}%2f`,
    `./${id}`,
    `/${id}`,
    "//etc/passwd",
    "file:///etc/passwd",
    "",
  ];
  for (const spelling of spellings) {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    socket.end(
      `GET /artifacts/${spelling} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${tenant.key}\r\n\r\n`,
    );
    const answer = await text(socket);
    expect([spelling, answer.split("\r\n")[0]]).toEqual([spelling, "HTTP/1.1 404 Not Found"]);
    expect(answer).not.toContain("root:");
  }
});
