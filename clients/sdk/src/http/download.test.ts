import { createHash } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createClient } from "../index.ts";

const BYTES = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7) % 256));
const SHA256 = createHash("sha256").update(BYTES).digest("hex");

let server: Server;
let asked: (string | undefined)[];
afterEach(() => new Promise<void>((resolve) => (server.close(() => resolve()), server.closeAllConnections())));

/** Each download is answered by the next of these; the last one answers all others. */
async function clientOf(...answers: ((response: ServerResponse, from: number) => void)[]) {
  asked = [];
  server = createServer((request, response) => {
    const { range } = request.headers;
    asked.push(range);
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
    answers[Math.min(asked.length, answers.length) - 1]?.(response, from);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return createClient({ url, key: "k", patience: { delayMs: 1, maxDelayMs: 5, attempts: 3, silenceMs: 300 } });
}

const head = (response: ServerResponse, from: number): ServerResponse =>
  response.writeHead(from === 0 ? 200 : 206, {
    "content-length": BYTES.length - from,
    "content-type": "text/csv",
    etag: `"${SHA256}"`,
  });
const whole = (response: ServerResponse, from: number): void => void head(response, from).end(BYTES.subarray(from));
const cutAt = (end: number) => (response: ServerResponse, from: number) =>
  void head(response, from).write(BYTES.subarray(from, end), () => setImmediate(() => response.destroy()));
const silentAt = (end: number) => (response: ServerResponse, from: number) =>
  void head(response, from).write(BYTES.subarray(from, end));
const refuse = (status: number, code: string, retryable: boolean) => (response: ServerResponse) =>
  void response.writeHead(status).end(JSON.stringify({ errors: [{ message: code, extensions: { code, retryable } }] }));

async function read(client: Awaited<ReturnType<typeof clientOf>>): Promise<Buffer> {
  const { bytes } = await client.artifacts.download("id");
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("a download", () => {
  test("tells what it is, and comes whole", async () => {
    const client = await clientOf(whole);
    expect(await client.artifacts.download("id")).toMatchObject({
      size: BYTES.length,
      contentType: "text/csv",
      sha256: SHA256,
    });
    expect((await read(client)).equals(BYTES)).toBe(true);
  });

  test.each([
    ["cut", cutAt],
    ["stuck", silentAt],
  ])("that is %s on the way goes on where it was, as often as it gets further", async (_, broken) => {
    const client = await clientOf(...[50_000, 90_000, 90_001, 150_000, 199_999].map(broken), whole);
    expect((await read(client)).equals(BYTES)).toBe(true);
    expect(asked.slice(0, 2)).toEqual([undefined, expect.stringMatching(/^bytes=\d+-$/)]);
  });

  test("that gets no further ends with a fault", async () => {
    const client = await clientOf(cutAt(50_000), cutAt(0));
    await expect(read(client)).rejects.toMatchObject({ name: "ConnectionError" });
  });

  test("is not glued together from two files", async () => {
    const client = await clientOf(cutAt(50_000), (response) => whole(response, 0));
    await expect(read(client)).rejects.toMatchObject({ code: "BAD_ANSWER" });
  });

  test("is asked for again while the gateway cannot answer", async () => {
    expect((await read(await clientOf(refuse(503, "UNAVAILABLE", true), whole))).equals(BYTES)).toBe(true);
  });

  test("is not asked for again when there is no such file", async () => {
    const client = await clientOf(refuse(404, "NOT_FOUND", false));
    await expect(client.artifacts.download("id")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(asked).toHaveLength(1);
  });

  test("ends when its reader says so", async () => {
    const client = await clientOf(silentAt(50_000));
    const stop = new AbortController();
    const { bytes } = await client.artifacts.download("id", { signal: stop.signal });
    const reading = (async () => {
      for await (const _ of bytes) stop.abort(new Error("enough"));
    })();
    await expect(reading).rejects.toThrow("enough");
  });
});
