import { randomUUID } from "node:crypto";
import { API_ERRORS, ApiError, type ApiErrorCode } from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import { type ExecutionResult, type FormattedExecutionResult, GraphQLError, type GraphQLFormattedError } from "graphql";
import { isConnectionFailure } from "./connection-failure.ts";

interface Extensions {
  code: ApiErrorCode;
  retryable: boolean;
  correlationId?: string;
  http?: NonNullable<GraphQLError["extensions"]["http"]>;
  /** Tells yoga to answer 500 where there is no data. */
  unexpected?: true;
}

/** Every error that leaves has a code of the closed list and says whether a retry can help; the rest is masked. */
export function toCodedError(error: unknown, log: Logger): GraphQLError {
  if (error instanceof GraphQLError && isCoded(error.extensions)) return error;
  const cause = rootCause(error);
  if (cause instanceof ApiError) return coded(error, cause.message, { ...extensionsOf(cause.code), ...httpOf(error) });
  if (isConnectionFailure(cause)) {
    log.warn({ err: cause }, "a part does not answer");
    return coded(
      error,
      "a part that Airlock needs does not answer; try again in a moment",
      extensionsOf("UNAVAILABLE"),
    );
  }
  if (cause instanceof GraphQLError && isCallersFault(error as GraphQLError)) {
    return coded(error, (error as GraphQLError).message, { ...extensionsOf("BAD_INPUT"), ...httpOf(error) });
  }
  const correlationId = randomUUID();
  log.error({ err: cause, correlationId }, "unexpected fault");
  const message = "an unexpected fault in Airlock; its log has the details under this correlationId";
  return coded(error, message, { ...extensionsOf("INTERNAL"), correlationId, unexpected: true });
}

function extensionsOf(code: ApiErrorCode): { code: ApiErrorCode; retryable: boolean } {
  return { code, retryable: API_ERRORS[code].retryable };
}

/** Of an error that toCodedError made. */
export function codeOf(error: GraphQLError): ApiErrorCode {
  return error.extensions["code"] as ApiErrorCode;
}

/** Without what only yoga wants to know of an error. */
export function toPublic({ errors, ...rest }: ExecutionResult): FormattedExecutionResult {
  return errors === undefined ? rest : { ...rest, errors: errors.map(toPublicError) };
}

export function toPublicError(error: GraphQLError): GraphQLFormattedError {
  const { extensions, ...rest } = error.toJSON();
  const { http: _http, unexpected: _unexpected, ...shown } = extensions ?? {};
  return { ...rest, extensions: shown };
}

function isCoded(extensions: GraphQLError["extensions"]): boolean {
  return Object.hasOwn(API_ERRORS, String(extensions["code"])) && typeof extensions["retryable"] === "boolean";
}

function rootCause(error: unknown): unknown {
  let cause = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

/**
 * GraphQL's own complaints about documents and variables carry no path. With a path, a field failed; then only a
 * complaint about its argument is the caller's fault, any other (a value that a type cannot show) is ours.
 */
function isCallersFault(error: GraphQLError): boolean {
  return error.path === undefined || error.message.startsWith("Argument ");
}

function httpOf(error: unknown): Pick<Extensions, "http"> {
  const http = error instanceof GraphQLError ? error.extensions.http : undefined;
  return http === undefined ? {} : { http };
}

function coded(error: unknown, message: string, extensions: Extensions): GraphQLError {
  if (!(error instanceof GraphQLError)) return new GraphQLError(message, { extensions: { ...extensions } });
  const { nodes, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { ...extensions } });
}
