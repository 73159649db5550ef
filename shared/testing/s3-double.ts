import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What the double does to the next request instead of serving it. */
export type S3Fault = "500" | "503" | "429" | "hang" | "reset" | "cut";

export interface S3Double {
  readonly endpoint: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Key (bucket included) → bytes. */
  readonly objects: Map<string, Buffer>;
  /** Methods and paths, in order, of all that was asked. */
  readonly asked: string[];
  /** The next requests fail so, one each. */
  fail(...faults: S3Fault[]): void;
  close(): Promise<void>;
}

const REGION = "us-east-1";
/** Requests are good for a quarter of an hour. */
const MAX_SKEW_MS = 15 * 60_000;

/**
 * An S3 service at its HTTP edge: one bucket, path style, GET with ranges, PUT, HEAD and DELETE. It checks what a real one
 * checks: the signature (SigV4, computed here independently), the time, the body's hash and length.
 */
export async function startS3Double(bucket = "bucket"): Promise<S3Double> {
  const credentials = { accessKeyId: "AKIATESTDOUBLE", secretAccessKey: "a/secret+of=the/double" };
  const objects = new Map<string, Buffer>();
  const asked: string[] = [];
  const faults: S3Fault[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "", "http://s3").pathname;
    asked.push(`${request.method} ${path}`);
    const fault = faults.shift();
    if (fault === "hang") return;
    if (fault === "reset") return void request.socket.destroy();
    const body = await buffer(request);
    if (fault !== undefined && fault !== "cut") return void response.writeHead(Number(fault)).end("<Error/>");
    const refused = refusal(request, body, credentials);
    if (refused !== null) return void response.writeHead(403).end(`<Error><Message>${refused}</Message></Error>`);
    const key = decodeURIComponent(path).slice(1);
    if (key === bucket) return void response.writeHead(200).end();
    if (!key.startsWith(`${bucket}/`)) return void response.writeHead(404).end("<Error>NoSuchBucket</Error>");
    serve(request, response, { key, body, cut: fault === "cut" });
  }

  function serve(
    request: IncomingMessage,
    response: ServerResponse,
    { key, body, cut }: { key: string; body: Buffer; cut: boolean },
  ): void {
    const object = objects.get(key);
    if (request.method === "PUT") {
      if (request.headers["content-length"] === undefined) return void response.writeHead(411).end();
      objects.set(key, body);
      return void response.writeHead(200).end();
    }
    if (request.method === "DELETE") {
      objects.delete(key);
      return void response.writeHead(204).end();
    }
    if (object === undefined) return void response.writeHead(404).end("<Error>NoSuchKey</Error>");
    const [, first = "", last = ""] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
    const part = first === "" ? object : object.subarray(Number(first), Number(last) + 1);
    response.writeHead(first === "" ? 200 : 206, { "content-length": part.length });
    if (!cut) return void response.end(part);
    response.write(part.subarray(0, part.length / 2), () => response.destroy());
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials,
    objects,
    asked,
    fail: (...next) => void faults.push(...next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const sha256 = (bytes: string | Buffer): string => createHash("sha256").update(bytes).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** Why the request would be refused; null: it would not. */
function refusal(request: IncomingMessage, body: Buffer, credentials: S3Double["credentials"]): string | null {
  const header = (name: string): string => String(request.headers[name] ?? "");
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, id, date = "", region = "", signed = "", signature = ""] = pattern.exec(header("authorization")) ?? [];
  if (id !== credentials.accessKeyId) return "InvalidAccessKeyId";
  const at = header("x-amz-date");
  const [, ...time] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(at) ?? [];
  const [y = 0, mo = 1, d = 1, h = 0, mi = 0, s = 0] = time.map(Number);
  if (Math.abs(Date.UTC(y, mo - 1, d, h, mi, s) - Date.now()) > MAX_SKEW_MS) return "RequestTimeTooSkewed";
  const names = signed.split(";");
  for (const must of ["host", "x-amz-content-sha256", "x-amz-date"])
    if (!names.includes(must)) return `unsigned ${must}`;
  if (header("x-amz-content-sha256") !== sha256(body)) return "XAmzContentSHA256Mismatch";
  const url = new URL(request.url ?? "", "http://s3");
  const canonical = [
    request.method,
    url.pathname,
    url.search.slice(1),
    ...names.map((name) => `${name}:${header(name).trim()}`),
    "",
    signed,
    header("x-amz-content-sha256"),
  ].join("\n");
  const text = ["AWS4-HMAC-SHA256", at, `${date}/${region}/s3/aws4_request`, sha256(canonical)].join("\n");
  const key = hmac(hmac(hmac(hmac(`AWS4${credentials.secretAccessKey}`, date), REGION), "s3"), "aws4_request");
  const expected = hmac(key, text);
  return timingSafeEqual(expected, Buffer.from(signature, "hex")) ? null : "SignatureDoesNotMatch";
}
