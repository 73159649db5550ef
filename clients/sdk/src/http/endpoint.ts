import { ConnectionError } from "../errors.ts";

/** Where the API is and who asks. */
export interface Endpoint {
  readonly url: string;
  readonly key: string;
  readonly fetch: typeof fetch;
}

/** `http://host:4001`, with or without `/graphql`. */
export function graphqlUrl(url: string): string {
  const parsed = new URL(url);
  if (!parsed.pathname.endsWith("/graphql")) parsed.pathname = `${parsed.pathname.replace(/\/+$/, "")}/graphql`;
  return parsed.href;
}

export interface Post {
  readonly accept: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** One POST; a network failure rejects as UNREACHABLE. Whether the answer is a good one is for the caller to see. */
export async function post(endpoint: Endpoint, { accept, body, signal }: Post): Promise<Response> {
  const headers = { accept, "content-type": "application/json", authorization: `Bearer ${endpoint.key}` };
  try {
    // A redirect could carry the key to another house.
    return await endpoint.fetch(endpoint.url, { method: "POST", headers, body, signal, redirect: "error" });
  } catch (error) {
    throw unreachable(endpoint, error);
  }
}

export function unreachable(endpoint: Endpoint, error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error;
  const { message, cause } = error as { message: string; cause?: { message?: string; code?: string } };
  const why = cause?.message || cause?.code || message;
  return new ConnectionError("UNREACHABLE", `${endpoint.url} does not answer: ${why}`, { cause: error });
}
