import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiError, type ApiErrorCode } from "@airlock/shared/domain";
import type { HealthRoutes } from "@airlock/shared/runtime";
import { sendNodeResponse } from "@whatwg-node/server";
import type { GraphQLSchema } from "graphql";
import type { App } from "../context.ts";
import { createLoaders } from "../loaders.ts";
import { artifactOf, sendArtifact } from "./artifacts.ts";
import type { Authenticator } from "./authenticate.ts";
import { codeOf, toCodedError } from "./coded-error.ts";
import { answerCors } from "./cors.ts";
import { asksForGraphiql, sendGraphiql } from "./graphiql.ts";
import { createGraphql, type RequestTrace } from "./graphql.ts";
import { announcesTooMuch, tooLarge } from "./read-body.ts";
import { sendEvents } from "./sse.ts";
import { serveWebSockets } from "./web-socket.ts";

export interface GatewayServer {
  readonly port: number;
  /** Stops accepting and resolves when the requests under way are answered. */
  close(): Promise<void>;
}

export interface ServerParts {
  readonly app: App;
  readonly schema: GraphQLSchema;
  readonly authenticator: Authenticator;
  readonly health: HealthRoutes;
  readonly corsOrigins: ReadonlySet<string>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** A request that has not arrived completely by then is dropped: a slow sender cannot hold a connection for ever. */
  readonly requestTimeoutMs?: number;
}

export async function serve(parts: ServerParts, options: ListenOptions): Promise<GatewayServer> {
  const answer = createHandler(parts);
  const requestTimeout = options.requestTimeoutMs ?? 120_000;
  const server = createServer(
    { requestTimeout, connectionsCheckingInterval: Math.min(requestTimeout, 30_000) },
    answer,
  );
  let closing = false;
  // Else whoever asks again over the connection that it has would keep us from stopping.
  server.on("request", ({ socket }, response) => response.once("finish", () => closing && socket.destroySoon()));
  const sockets = serveWebSockets(server, parts);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      closing = true;
      // Before the streams: a client that is told nothing but that the server goes away connects again.
      const left = sockets.dispose();
      parts.app.live.streams.stop();
      await Promise.all([left, closeServer(server)]);
    },
  };
}

/** Less than the shutdown waits for us: a client that does not take its answer is no failure of ours. */
const ANSWER_MS = 15_000;

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), ANSWER_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function createHandler({ app, schema, authenticator, health, corsOrigins }: ServerParts) {
  const graphql = createGraphql(schema, app.log);

  async function answerGraphql(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const caller = await authenticator.callerOf(request.headers.authorization);
    if (caller === null) return refuse(request, response, unauthenticated());
    if (announcesTooMuch(request)) return refuse(request, response, tooLarge());
    const loaders = createLoaders(app.db, caller.projectId);
    const trace: RequestTrace = { operation: null, code: "OK", live: null };
    const lastEventId = lastEventIdOf(request);
    response.once("close", () => {
      discardRest(request);
      app.metrics.request(trace.operation ?? "none", trace.code, (performance.now() - startedAt) / 1000);
    });
    const context = { req: request, res: response, app, caller, loaders, lastEventId, trace };
    const answer = await graphql.handleNodeRequestAndResponse(request, response, context);
    await (trace.live ? sendEvents(response, trace.live) : sendNodeResponse(answer, response, request, false));
  }

  async function answerArtifact(request: IncomingMessage, response: ServerResponse, id: string): Promise<void> {
    const caller = await authenticator.callerOf(request.headers.authorization);
    if (caller === null) throw unauthenticated();
    await sendArtifact(app, caller, id, { request, response });
  }

  function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const coded = toCodedError(error, app.log);
    sendErrors(response, STATUS[codeOf(coded)] ?? 500, [coded]);
    discardRest(request);
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const onError = (error: unknown): void => {
      if (response.headersSent) response.destroy();
      else refuse(request, response, error);
    };
    if (answerCors(corsOrigins, request, response)) return;
    const artifact = artifactOf(request);
    if (asksForGraphiql(request)) sendGraphiql(response).catch(onError);
    else if (request.url?.split("?")[0] === "/graphql") answerGraphql(request, response).catch(onError);
    else if (artifact !== null) answerArtifact(request, response, artifact).catch(onError);
    else if (!health.handle(request, response)) {
      refuse(request, response, new ApiError("NOT_FOUND", "there is nothing at this path; the API is at /graphql"));
    }
  };
}

function lastEventIdOf({ headers }: IncomingMessage): string | null {
  const id = headers["last-event-id"];
  return typeof id === "string" && id !== "" ? id : null;
}

const STATUS: Partial<Record<ApiErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  TOO_LARGE: 413,
  UNAVAILABLE: 503,
};

function unauthenticated(): ApiError {
  return new ApiError(
    "UNAUTHENTICATED",
    "no API key, or one that is unknown or revoked; send `Authorization: Bearer <key>`",
  );
}

function sendErrors(response: ServerResponse, status: number, errors: readonly unknown[]): void {
  const headers = { "content-type": "application/json; charset=utf-8", connection: "close" };
  response.writeHead(status, headers).end(JSON.stringify({ errors }));
}

const DISCARD_MS = 2_000;

/**
 * A body that nobody reads any more is thrown away for a moment, so that the sender gets to read the answer (a
 * connection closed under its hands would be reset); then the connection ends.
 */
function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const timer = setTimeout(() => request.destroy(), DISCARD_MS);
  request.once("close", () => clearTimeout(timer));
}
