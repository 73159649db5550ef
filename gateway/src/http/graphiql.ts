import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { GRAPHIQL_DOCUMENTS } from "./graphiql-documents.ts";
import { KEY_PROMPT } from "./graphiql-key.ts";

/**
 * A browser that was pointed at the API. The page needs no key; whatever it sends does. With a query, too: GraphiQL
 * writes the one that is being edited into the address, and the page may be loaded again.
 */
export function asksForGraphiql({ method, url, headers }: IncomingMessage): boolean {
  const page = method === "GET" && url?.split("?")[0] === "/graphql" && headers.authorization === undefined;
  return page && headers.accept?.includes("text/html") === true;
}

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24"><rect width="24" height="24" rx="6" fill="#1d4ed8"/><circle cx="12" cy="12" r="6" fill="none" stroke="#fff" stroke-width="2"/><path d="M12 6v12" stroke="#fff" stroke-width="2"/></svg>';
const ICON = `data:image/svg+xml,${encodeURIComponent(SVG)}`;

let page: Promise<Buffer> | null = null;

export async function sendGraphiql(response: ServerResponse): Promise<void> {
  page ??= renderPage();
  const body = await page;
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "content-encoding": "gzip",
    "content-length": body.length,
    // All of it is in the page: it works without the internet, and a key that is typed in goes nowhere else.
    "content-security-policy":
      "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
  });
  response.end(body);
}

/** 9 MB as text, so it is loaded when somebody asks for it first, and kept compressed. */
async function renderPage(): Promise<Buffer> {
  const { renderGraphiQL } = await import("@graphql-yoga/render-graphiql");
  const html = renderGraphiQL({
    title: "Airlock",
    favicon: ICON,
    logo: SVG,
    defaultTabs: GRAPHIQL_DOCUMENTS,
    // Somebody may write a key into them.
    shouldPersistHeaders: false,
  });
  return promisify(gzip)(html.replace(ROOT, () => KEY_PROMPT + ROOT));
}

const ROOT = '<div id="root"></div>';
