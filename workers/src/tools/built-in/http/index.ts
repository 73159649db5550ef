import { lookup } from "node:dns/promises";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { z } from "zod";
import { defineTool } from "../../define-tool.ts";
import type { Tool } from "../../tool.ts";
import { exchange } from "./exchange.ts";
import { findTarget, type Reach, type Resolve, urlFault } from "./target.ts";

export interface HttpToolOptions {
  /** `host:port`, the host as URLs write it (`[::1]:8080`), that may be called although it is not public. */
  readonly allowPrivate: readonly string[];
  /** The system's resolver, if absent. */
  readonly resolve?: Resolve;
}

const MAX_URL_CHARS = 8 * 1024;
const MAX_HEADERS = 100;

/** These frame the message or belong to the connection: a caller who sets them could smuggle a second request. */
const FRAMING =
  /^(host|connection|content-length|transfer-encoding|upgrade|keep-alive|te|trailer|expect|http2-settings|proxy-.*)$/i;

const input = z
  .strictObject({
    method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
    url: z
      .string()
      .max(MAX_URL_CHARS)
      .superRefine(reporting(urlFault))
      .describe("http or https, on the public internet."),
    headers: z.record(z.string(), z.string()).superRefine(reporting(headersFault)).optional(),
    body: z
      .string()
      .refine((text) => text.isWellFormed(), "contains half of a surrogate pair")
      .optional()
      .describe("Sent as UTF-8."),
  })
  .refine(({ method, body }) => body === undefined || (method !== "GET" && method !== "HEAD"), {
    message: "GET and HEAD have no body",
  });

const output = z.object({
  status: z.number().int(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).describe("Names in lower case."),
  body: z.string(),
  encoding: z.literal("base64").optional().describe("Where the body is not text."),
});

/** HTTP for guests, whose only way out this is. Where it may go is judged by address, after resolution. */
export function createHttpTool(options: HttpToolOptions): Tool {
  const reach: Reach = {
    allowPrivate: new Set(options.allowPrivate.map((entry) => entry.trim().toLowerCase())),
    resolve: options.resolve ?? ((host) => lookup(host, { all: true })),
  };
  return defineTool({
    path: "http.request",
    description: "Sends one HTTP request. Follows no redirects; takes at most 1 MiB of response.",
    input,
    output,
    policy: "required",
    run: async ({ signal }, { url, ...request }) => exchange(await findTarget(url, reach, signal), request, signal),
  });
}

function headersFault(headers: Readonly<Record<string, string>>): string | null {
  const names = Object.keys(headers);
  if (names.length > MAX_HEADERS) return `more than ${MAX_HEADERS} headers`;
  // Node would send one of them, and not say which.
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) return "a header is given twice";
  for (const [name, value] of Object.entries(headers)) {
    if (FRAMING.test(name)) return `the header ${name} is not the caller's to set`;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      return `the header ${JSON.stringify(name)} has a character that HTTP does not allow`;
    }
  }
  return null;
}

/** Makes a zod check of a function that says what is wrong. */
function reporting<T>(faultOf: (value: T) => string | null) {
  return (value: T, context: z.core.$RefinementCtx): void => {
    const message = faultOf(value);
    if (message !== null) context.addIssue({ code: "custom", message });
  };
}
