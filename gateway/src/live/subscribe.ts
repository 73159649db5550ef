import { ApiError } from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  executeSubscriptionEvent,
  validateSubscriptionArgs,
} from "graphql";
import type { RequestContext } from "../context.ts";
import { toCodedError } from "../http/coded-error.ts";
import { createLoaders } from "../loaders.ts";
import { checkCost } from "../schema/query-limits.ts";
import { LiveResults } from "./live-results.ts";
import { selectionKey } from "./selection-key.ts";
import type { Stream } from "./streams.ts";

type ValidatedArgs = Parameters<typeof executeSubscriptionEvent>[0];

/** What was made of a payload, by selection: whoever asks for the same of the same payload shares the result. */
const made = new WeakMap<object, Map<string, ExecutionResult | Promise<ExecutionResult>>>();
const eventIds = new WeakMap<ExecutionResult, number>();

/** The `seq` of the event that the result shows; undefined where it shows something else. */
export function eventIdOf(result: ExecutionResult): number | undefined {
  return eventIds.get(result);
}

/** A subscription, from its cost and its scope to its results; or the errors that keep it from beginning. */
export async function subscribeLive(args: ExecutionArgs): Promise<LiveResults | ExecutionResult> {
  const { app, caller } = args.contextValue as RequestContext;
  const refused = (errors: readonly unknown[]): ExecutionResult => ({
    errors: errors.map((error) => toCodedError(error, app.log)),
  });
  let stream: Stream | null = null;
  try {
    const validated = validateSubscriptionArgs(args);
    if (!("operation" in validated)) return refused(validated);
    checkCost(args, validated.operation);
    stream = app.live.streams.open(caller);
    const source = await createSourceEventStream(validated);
    if (Symbol.asyncIterator in source) return follow(args, validated, source as AsyncIterable<object>, stream);
    stream.release();
    return refused(source.errors ?? []);
  } catch (error) {
    stream?.release();
    return refused([error]);
  }
}

function follow(
  args: ExecutionArgs,
  validated: ValidatedArgs,
  source: AsyncIterable<object>,
  stream: Stream,
): LiveResults {
  const { log } = (args.contextValue as RequestContext).app;
  const key = selectionKey(args.document, validated.operation, args.variableValues ?? {});
  return new LiveResults({
    source: source[Symbol.asyncIterator](),
    stream,
    execute: (payload) => makeOnce(validated, payload, key, log),
    excuse: (error) => ({ errors: [toCodedError(error, log)] }),
    lastWords: (end) => (end === "revoked" ? { errors: [toCodedError(revoked(), log)] } : null),
  });
}

function makeOnce(
  args: ValidatedArgs,
  payload: object,
  key: string,
  log: Logger,
): ExecutionResult | Promise<ExecutionResult> {
  const results = made.get(payload) ?? new Map<string, ExecutionResult | Promise<ExecutionResult>>();
  made.set(payload, results);
  let result = results.get(key);
  if (result === undefined) {
    result = make(args, payload, log);
    results.set(key, result);
  }
  return result;
}

async function make(args: ValidatedArgs, payload: object, log: Logger): Promise<ExecutionResult> {
  const context = args.contextValue as RequestContext;
  // What loaders remember of an earlier payload may have changed.
  const contextValue = { ...context, loaders: createLoaders(context.app.db, context.caller.projectId) };
  const executed = await executeSubscriptionEvent({ ...args, rootValue: payload, contextValue });
  const result = executed.errors
    ? { ...executed, errors: executed.errors.map((error) => toCodedError(error, log)) }
    : executed;
  if ("seq" in payload) eventIds.set(result, payload.seq as number);
  return result;
}

function revoked(): ApiError {
  return new ApiError("UNAUTHENTICATED", "the API key of this stream was revoked; subscribe with another one");
}
