const CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EHOSTUNREACH",
  // Postgres: shutting down, crashed, starting up, too many connections.
  "57P01",
  "57P02",
  "57P03",
  "53300",
]);

/** pg and its pool report these by message only. */
const MESSAGES = [
  /^Connection terminated/,
  /timeout exceeded when trying to connect/,
  /^Client has encountered a connection error/,
];

const NAMES = new Set(["MaxRetriesPerRequestError", "ClusterAllFailedError"]);

/** Whether the database or the queue could not be reached, as opposed to having answered with an error. */
export function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && (CODES.has(code) || code.startsWith("08"))) return true;
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isConnectionFailure);
  return NAMES.has(error.name) || MESSAGES.some((message) => message.test(error.message));
}
