import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Faults } from "./faults.ts";
import { answer, type DoubleState, type Exchange, refuse } from "./routes.ts";
import type { SandboxRecord } from "./sandboxes.ts";

export const DOUBLE_CREDENTIALS = { token: "canary-vercel-token", teamId: "team_double", projectId: "prj_double" };

/**
 * The parts of Vercel's API that the SDK uses, on loopback. Commands run for real, in namespaces that stand for a
 * microVM; they need root and bubblewrap. What it cannot show: that the vendor's own walls hold.
 */
export interface VercelDouble {
  /** For the SDK's `fetch` parameter: what goes to vercel.com goes here, all else is refused. */
  readonly fetch: typeof fetch;
  readonly faults: Faults;
  /** Method and path of each request. */
  readonly requests: readonly string[];
  /** Every byte of the requests, headers too, to look for what must not be in them. */
  readonly bodies: readonly string[];
  readonly sandboxes: ReadonlyMap<string, SandboxRecord>;
  setMaxTimeout(ms: number): void;
  close(): Promise<void>;
}

export async function startVercelDouble(): Promise<VercelDouble> {
  const state: DoubleState = {
    faults: new Faults(),
    sandboxes: new Map(),
    maxTimeoutMs: 24 * 3600_000,
    pageSize: 10,
    askedLogs: new Set(),
  };
  const requests: string[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    receive(state, request, response, { requests, bodies }).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    fetch: redirectTo(base),
    faults: state.faults,
    requests,
    bodies,
    sandboxes: state.sandboxes,
    setMaxTimeout: (ms) => (state.maxTimeoutMs = ms),
    async close() {
      await Promise.all([...state.sandboxes.values()].map((sandbox) => sandbox.stop()));
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function redirectTo(base: string): typeof fetch {
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== "https://vercel.com") throw new Error(`the double does not know ${url.origin}`);
    return fetch(`${base}${url.pathname}${url.search}`, init);
  };
}

async function receive(
  state: DoubleState,
  request: IncomingMessage,
  response: ServerResponse,
  seen: { requests: string[]; bodies: string[] },
): Promise<void> {
  const url = new URL(request.url ?? "", "http://double");
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const exchange: Exchange = {
    request,
    response,
    method: request.method ?? "",
    path: url.pathname.replace(/^\/api/, ""),
    query: url.searchParams,
    body: Buffer.concat(chunks),
  };
  seen.requests.push(`${exchange.method} ${exchange.path}`);
  if (request.headers["content-type"] === "application/json") seen.bodies.push(exchange.body.toString());
  if (request.headers.authorization !== `Bearer ${DOUBLE_CREDENTIALS.token}`) {
    return refuse(exchange, 403, "forbidden", "Not authorized");
  }
  const fault = state.faults.forRequest(exchange.method, exchange.path);
  if (fault === null) return answer(state, exchange);
  if (fault.afterwards === true) await answer(state, { ...exchange, response: nowhere() });
  if (fault.retryAfter !== undefined) response.setHeader("retry-after", String(fault.retryAfter));
  refuse(exchange, fault.status, "fault", "a scripted fault");
}

/** A response that nobody reads. */
function nowhere(): ServerResponse {
  const response: unknown = { writeHead: () => response, write: () => true, end: () => response, setHeader: () => {} };
  return response as ServerResponse;
}
