import type { IncomingMessage, ServerResponse } from "node:http";

/** A day: a preflight before every request would double what a browser waits. Browsers cut it shorter by themselves. */
const MAX_AGE_S = 86_400;

const ALLOWED = {
  "access-control-allow-methods": "GET, POST",
  "access-control-allow-headers": "authorization, content-type, last-event-id",
  "access-control-max-age": String(MAX_AGE_S),
};

/**
 * Lets pages of the given origins read what the API answers; to all others, nothing is said, and their browser keeps
 * the answer from them. Never with credentials: the key travels in a header that the page sets itself, not in a cookie.
 * True where the request was a preflight, which is answered then.
 */
export function answerCors(origins: ReadonlySet<string>, request: IncomingMessage, response: ServerResponse): boolean {
  if (origins.size === 0) return false;
  const { origin } = request.headers;
  // Also where there is no origin: caches must not give one page's answer to another.
  response.setHeader("vary", "origin");
  if (origin === undefined || !origins.has(origin)) return false;
  response.setHeader("access-control-allow-origin", origin);
  if (request.method !== "OPTIONS") return false;
  response.writeHead(204, ALLOWED).end();
  return true;
}
