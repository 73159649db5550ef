import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import { execute, type ExecutionArgs, getOperationAST, GraphQLError, type GraphQLSchema, Kind } from "graphql";
import { createYoga, type Plugin } from "graphql-yoga";
import type { RequestContext } from "../context.ts";
import { LiveResults } from "../live/live-results.ts";
import { subscribeLive } from "../live/subscribe.ts";
import { codeOf, toCodedError } from "./coded-error.ts";
import { createDocumentCache } from "./document-cache.ts";
import { parseWithinLimits } from "./document-limits.ts";
import { readJson } from "./read-body.ts";
import { acceptsEvents } from "./sse.ts";

/** Filled in on the way. An object of its own, because yoga copies the context around it. */
export interface RequestTrace {
  /** For the metrics: the root field, so from a closed set; null before it is known. */
  operation: string | null;
  code: string;
  /** What a subscription answers with, in place of yoga's own response. */
  live: LiveResults | null;
}

/** What the server hands to yoga beside the request. */
export interface ServerContext extends RequestContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly trace: RequestTrace;
}

export function createGraphql(schema: GraphQLSchema, log: Logger) {
  return createYoga<ServerContext, ServerContext>({
    schema,
    graphqlEndpoint: "/graphql",
    // Yoga's own would let every origin in; see `cors.ts`.
    cors: false,
    graphiql: false,
    landingPage: false,
    multipart: false,
    // Our own reader below limits the body, without a second copy of it.
    maxRequestBodySize: false,
    logging: false,
    parserAndValidationCache: { documentCache: createDocumentCache(), errorCache: createDocumentCache() },
    maskedErrors: { maskError: (error) => toCodedError(error, log) },
    plugins: [readBodyOurselves(), limitDocuments(), executeAndName(), subscribeOurselves(), codeEveryError(log)],
  });
}

/** A body is only JSON, from the node stream: UTF-8 is checked and the size is bounded while it arrives. */
function readBodyOurselves(): Plugin<ServerContext, ServerContext> {
  return {
    onRequestParse({ request, requestParser, setRequestParser, serverContext }) {
      if (request.method === "GET" && requestParser) setRequestParser((get) => parseQueryString(requestParser, get));
      if (request.method !== "POST") return;
      const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
      if (requestParser === undefined || type !== "application/json") {
        throw atStatus(415, new ApiError("BAD_INPUT", "the request's content-type must be application/json"));
      }
      setRequestParser(() => readParams(serverContext.req));
    },
  };
}

type RequestParser = NonNullable<Parameters<NonNullable<Plugin["onRequestParse"]>>[0]["requestParser"]>;

/** Yoga's own parser lets JSON.parse throw as it likes. */
async function parseQueryString(parser: RequestParser, request: Request): Promise<Awaited<ReturnType<RequestParser>>> {
  try {
    return await parser(request);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw atStatus(
      400,
      new ApiError("BAD_INPUT", "`variables` and `extensions` of the query string must be JSON"),
      true,
    );
  }
}

async function readParams(request: IncomingMessage): Promise<object> {
  try {
    const body = await readJson(request);
    if (body !== null && typeof body === "object") return body;
    throw new ApiError("BAD_INPUT", "the request's body must be a JSON object with a `query`");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw atStatus(error.code === "TOO_LARGE" ? 413 : 400, error);
  }
}

/** `spec`: yoga answers 200 instead where the client accepts only application/json, as GraphQL over HTTP asks for. */
function atStatus(status: number, error: ApiError, spec = false): GraphQLError {
  return new GraphQLError(error.message, {
    originalError: error,
    extensions: { http: { status, ...(spec && { spec }) } },
  });
}

function limitDocuments(): Plugin<ServerContext, ServerContext> {
  return {
    onParse({ setParseFn }) {
      setParseFn(parseWithinLimits);
    },
  };
}

/** graphql-js's own executor: the one that knows the variables' shape that its other parts expect. */
function executeAndName(): Plugin<ServerContext, ServerContext> {
  return {
    onExecute({ args, setExecuteFn }) {
      setExecuteFn(execute);
      args.contextValue.trace.operation = nameOf(args);
    },
  };
}

function nameOf({ document, operationName }: Pick<ExecutionArgs, "document" | "operationName">): string {
  const [first, ...more] = getOperationAST(document, operationName)?.selectionSet.selections ?? [];
  if (!first || more.length > 0 || first.kind !== Kind.FIELD) return "several";
  return first.name.value.startsWith("__") ? "introspection" : first.name.value;
}

/** Yoga would execute each event for each subscriber and copy its text through web streams. */
function subscribeOurselves(): Plugin<ServerContext, ServerContext> {
  return {
    onSubscribe({ args, setSubscribeFn }) {
      const { trace, req } = args.contextValue;
      trace.operation = nameOf(args);
      setSubscribeFn(async (args: ExecutionArgs) => {
        if (!acceptsEvents(req.headers.accept)) throw atStatus(406, notAcceptable());
        const results = await subscribeLive(args);
        if (results instanceof LiveResults) trace.live = results;
        return results;
      });
    },
    onResultProcess: (payload) => {
      if (payload.serverContext.trace.live === null) return;
      payload.setResultProcessor((_, fetchAPI) => new fetchAPI.Response(null), "text/event-stream");
    },
  };
}

function notAcceptable(): ApiError {
  return new ApiError("BAD_INPUT", "a subscription is answered as text/event-stream; the request must accept that");
}

/** The last word on every answer, also on those that yoga makes up itself. */
function codeEveryError(log: Logger): Plugin<ServerContext, ServerContext> {
  return {
    onResultProcess: (payload) => {
      const { result, serverContext } = payload;
      if (Array.isArray(result) || !("errors" in result) || !result.errors) return;
      const errors = result.errors.map((error) => toCodedError(error, log));
      serverContext.trace.code = errors[0] ? codeOf(errors[0]) : "OK";
      payload.setResult({ ...result, errors });
    },
  };
}
