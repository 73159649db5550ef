import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "./metrics.ts";

/** Answers whether a part works; throws or rejects with the reason when it does not. */
export type ReadinessCheck = () => Promise<void>;

export interface HealthRoutes {
  /** True when the path was one of ours and has been answered. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

const CHECK_TIMEOUT_MS = 2_000;

/** `/healthz` (the process turns), `/readyz` (what it needs answers) and `/metrics`, alike in every program. */
export function createHealthRoutes(options: {
  checks: Readonly<Record<string, ReadinessCheck>>;
  registry: Registry;
  stopping: AbortSignal;
}): HealthRoutes {
  const { checks, registry, stopping } = options;

  async function ready(response: ServerResponse): Promise<void> {
    const names = Object.keys(checks);
    const settled = await Promise.allSettled(names.map((name) => withTimeout(checks[name] as ReadinessCheck)));
    const parts = Object.fromEntries(
      settled.map((result, index) => [names[index], result.status === "fulfilled" ? "ok" : message(result.reason)]),
    );
    const ok = !stopping.aborted && settled.every((result) => result.status === "fulfilled");
    sendJson(response, ok ? 200 : 503, { ready: ok, stopping: stopping.aborted, parts });
  }

  async function metrics(response: ServerResponse): Promise<void> {
    const text = await registry.metrics();
    response.writeHead(200, { "content-type": registry.contentType }).end(text);
  }

  return {
    handle(request, response) {
      const path = request.url?.split("?")[0];
      if (path === "/healthz") sendJson(response, 200, { alive: true });
      else if (path === "/readyz") void ready(response).catch(() => response.destroy());
      else if (path === "/metrics") void metrics(response).catch(() => response.destroy());
      else return false;
      return true;
    },
  };
}

/** A server with nothing but the health routes, for programs that serve nothing else. */
export async function serveHealth(
  routes: HealthRoutes,
  listen: { host: string; port: number },
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    if (!routes.handle(request, response)) sendJson(response, 404, { error: "not found" });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(listen.port, listen.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function message(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

async function withTimeout(check: ReadinessCheck): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([check(), late]);
  } finally {
    clearTimeout(timer);
  }
}
