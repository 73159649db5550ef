import type { Server } from "node:http";
import { ApiError } from "@airlock/shared/domain";
import {
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
  validate,
} from "graphql";
import { useServer } from "graphql-ws/use/ws";
import { type WebSocket, WebSocketServer } from "ws";
import type { App, RequestContext } from "../context.ts";
import { LiveResults } from "../live/live-results.ts";
import { subscribeLive } from "../live/subscribe.ts";
import { createLoaders } from "../loaders.ts";
import type { Authenticator } from "./authenticate.ts";
import { toCodedError, toPublic, toPublicError } from "./coded-error.ts";
import { createDocumentCache } from "./document-cache.ts";
import { parseWithinLimits } from "./document-limits.ts";
import { LAST_WORDS_MS } from "./sse.ts";

/** The first message is read before its key is known, so it may not be large; large submissions go over HTTP. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
/** What a client has to answer that it leaves. */
const GOODBYE_MS = 2_000;

export interface WebSocketParts {
  readonly app: App;
  readonly schema: GraphQLSchema;
  readonly authenticator: Authenticator;
}

/** The graphql-transport-ws protocol on the path of the API. The key comes with the upgrade or in `connectionParams`. */
export function serveWebSockets(server: Server, { app, schema, authenticator }: WebSocketParts) {
  const sockets = new WebSocketServer({ server, path: "/graphql", maxPayload: MAX_MESSAGE_BYTES });
  sockets.on("error", (error) => app.log.warn({ err: error }, "a WebSocket failed"));
  const valid = createDocumentCache<DocumentNode>();

  function documentOf(query: string): DocumentNode {
    const known = valid.get(query);
    if (known) return known;
    const document = parseWithinLimits(query);
    const faults = validate(schema, document);
    if (faults.length > 0) throw new AggregateError(faults);
    valid.set(query, document);
    return document;
  }

  function codeAll(error: unknown): GraphQLError[] {
    const all: unknown[] = error instanceof AggregateError ? error.errors : [error];
    return all.map((one) => toCodedError(one, app.log));
  }

  async function executeCoded(args: ExecutionArgs): Promise<ExecutionResult> {
    const result = await execute(args);
    return result.errors === undefined ? result : { ...result, errors: result.errors.flatMap(codeAll) };
  }

  const served = useServer(
    {
      execute: executeCoded,
      subscribe: subscribeLive as never,
      onConnect: async ({ connectionParams, extra }) =>
        (await authenticator.callerOf(authorizationOf(connectionParams, extra.request.headers))) !== null,
      onSubscribe: async ({ connectionParams, extra }, _id, { query, operationName, variables }) => {
        try {
          // Again for each operation: the key may have been revoked since the connection was made.
          const caller = await authenticator.callerOf(authorizationOf(connectionParams, extra.request.headers));
          if (caller === null)
            throw new ApiError("UNAUTHENTICATED", "the API key was revoked; connect with another one");
          const contextValue: RequestContext = {
            app,
            caller,
            loaders: createLoaders(app.db, caller.projectId),
            lastEventId: null,
          };
          const document = documentOf(query);
          return { schema, document, operationName, variableValues: variables, contextValue };
        } catch (error) {
          return codeAll(error);
        }
      },
      onOperation: ({ extra }, _id, _payload, _args, results) => {
        if (results instanceof LiveResults) results.onCut(() => hangUpOnStalled(extra.socket));
      },
      onNext: (_context, _id, _payload, _args, result) => toPublic(result as ExecutionResult),
      onError: (_context, _id, _payload, errors) => errors.flatMap(codeAll).map(toPublicError),
    },
    sockets,
  );

  return {
    /** Says at once that the server goes away, and resolves when all have left. */
    async dispose(): Promise<void> {
      const left = served.dispose();
      const timer = setTimeout(() => {
        for (const socket of sockets.clients) socket.terminate();
      }, GOODBYE_MS);
      await left;
      clearTimeout(timer);
    },
  };
}

/** A reader that has stopped would never take what its stream ends with. */
function hangUpOnStalled(socket: WebSocket): void {
  setTimeout(() => {
    if (socket.bufferedAmount > 0) socket.terminate();
  }, LAST_WORDS_MS);
}

function authorizationOf(
  params: Readonly<Record<string, unknown>> | undefined,
  headers: { readonly authorization?: string | undefined },
): string | undefined {
  const given = params?.["authorization"] ?? params?.["Authorization"];
  return typeof given === "string" ? given : headers.authorization;
}
