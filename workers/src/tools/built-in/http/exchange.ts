import { isUtf8 } from "node:buffer";
import type { LookupAddress } from "node:dns";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { ToolError } from "../../tool-error.ts";
import { portOf, type Target } from "./target.ts";

export const MAX_RESPONSE_BYTES = 1024 * 1024;

export interface HttpRequest {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: string;
  readonly encoding?: "base64";
}

/** One request, one response; redirects are the caller's to follow, as new calls that are judged anew. */
export async function exchange(target: Target, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
  try {
    const response = await send(target, request, signal);
    const body = await readBody(response);
    const text = isUtf8(body)
      ? { body: body.toString() }
      : { body: body.toString("base64"), encoding: "base64" as const };
    return { status: response.statusCode ?? 0, headers: headersOf(response), ...text };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ToolError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ToolError(`${request.method} ${target.url.host} failed: ${code ?? message}`);
  }
}

function send(target: Target, { method, headers, body }: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { url, host, addresses } = target;
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request({
      method,
      hostname: host,
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      headers: {
        "accept-encoding": "identity",
        "user-agent": "airlock",
        ...headers,
        ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
      },
      lookup: pinned(addresses),
      signal,
      // A pooled connection would be to an address that another call was judged for.
      agent: false,
    });
    request.once("response", resolve);
    // Stays on: a connection that breaks later says so here, too, and the reader of the body hears of it.
    request.on("error", reject);
    request.end(body);
  });
}

/** Answers with the judged addresses, so that a second look at the name cannot find another. */
function pinned(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses as [LookupAddress];
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the response and its connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) throw new ToolError(`the response has more than ${MAX_RESPONSE_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf(response: IncomingMessage): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(response.headers)) if (value !== undefined) headers[name] = value;
  return headers;
}
