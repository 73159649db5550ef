import { openAsBlob } from "node:fs";
import { tmpdir } from "node:os";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import { AwsV4Signer } from "aws4fetch";
import { type ByteRange, type ReceivedFile, type Store, StoreError, type StoreKey } from "./store.ts";

export interface S3Options {
  /** Of the service, without the bucket. */
  readonly endpoint: string;
  readonly bucket: string;
  /** In front of every key; empty, or ending in `/`. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
  /** Until the answer begins; an upload may take a second more for every 100 kB. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 30_000;
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 100;
/** SHA-256 of nothing. */
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

interface Ask {
  readonly method: "GET" | "PUT" | "HEAD" | "DELETE";
  readonly url: string;
  readonly sha256?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Blob;
  readonly patienceMs?: number;
}

/** Any service that speaks S3: requests are signed (SigV4), buckets are part of the path. */
export function createS3Store(options: S3Options): Store {
  const bucket = `${options.endpoint.replace(/\/+$/, "")}/${options.bucket}`;
  const patience = options.patienceMs ?? PATIENCE_MS;
  const urlOf = ({ projectId, sha256 }: StoreKey): string => `${bucket}/${options.prefix}${projectId}/${sha256}`;

  async function attempt({ method, url, sha256 = EMPTY, headers = {}, body, patienceMs = patience }: Ask) {
    const { accessKeyId, secretAccessKey, sessionToken, region } = options;
    const signer = new AwsV4Signer({
      method,
      url,
      headers: { ...headers, "x-amz-content-sha256": sha256 },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== null && { sessionToken }),
      service: "s3",
      region,
    });
    const signed = await signer.sign();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), patienceMs);
    try {
      const init = { method, headers: signed.headers, redirect: "error", signal: late.signal } as const;
      return await fetch(signed.url, body === undefined ? init : { ...init, body });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The answer, whatever it says. What may pass is tried again; every request may arrive twice. */
  async function ask(request: Ask): Promise<Response> {
    for (let turn = 1; ; turn += 1) {
      const answer = await attempt(request).catch((error: unknown) => error as Error);
      const passing = answer instanceof Error || answer.status >= 500 || answer.status === 429;
      if (!passing) return answer;
      if (turn === ATTEMPTS) throw refusal(request, answer);
      if (!(answer instanceof Error)) await answer.body?.cancel();
      await sleep(FIRST_PAUSE_MS * 2 ** turn * (0.5 + Math.random() / 2));
    }
  }

  async function demand(request: Ask, ...expected: number[]): Promise<Response> {
    const answer = await ask(request);
    if (expected.includes(answer.status)) return answer;
    await answer.body?.cancel();
    throw refusal(request, answer);
  }

  return {
    kind: "s3",
    takesFiles: false,
    // No folder of our own: it would outlive a worker that is killed.
    incoming: async () => tmpdir(),
    async put(projectId: string, { path: file, size, sha256 }: ReceivedFile) {
      const body = await openAsBlob(file);
      // The hash is signed: a service that got other bytes refuses them.
      const patienceMs = patience + size / 100;
      const answer = await demand({ method: "PUT", url: urlOf({ projectId, sha256 }), sha256, body, patienceMs }, 200);
      await answer.body?.cancel();
    },
    async read(key: StoreKey, range?: ByteRange) {
      const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${range.end}` } : {};
      const answer = await demand({ method: "GET", url: urlOf(key), headers }, range ? 206 : 200);
      // `unknown`: where this is checked with the DOM's types, theirs and Node's are two.
      const body: unknown = answer.body;
      return body === null ? Readable.from([]) : Readable.fromWeb(body as ReadableStream);
    },
    async remove(key: StoreKey) {
      const answer = await demand({ method: "DELETE", url: urlOf(key) }, 200, 204, 404);
      await answer.body?.cancel();
    },
    async check() {
      await demand({ method: "HEAD", url: bucket }, 200);
    },
  };
}

/** Neither the key nor the signature is part of it: messages are logged. */
function refusal({ method }: Ask, answer: Response | Error): StoreError {
  if (answer instanceof Error) {
    const { cause, message } = answer as Error & { cause?: { message?: string; code?: string } };
    const why = cause?.code ?? cause?.message ?? message;
    return new StoreError(`the artifact store does not answer (${method}): ${why}`, { cause: answer });
  }
  if (method === "GET" && answer.status === 404) return new StoreError("a file is not in the store any more");
  return new StoreError(`the artifact store refused a ${method} with status ${answer.status}`);
}
