import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { GRAPHIQL_DOCUMENTS } from "./graphiql-documents.ts";

/** A browser that was pointed at the API. The page needs no key; whatever it sends does. */
export function asksForGraphiql({ method, url, headers }: IncomingMessage): boolean {
  return method === "GET" && url === "/graphql" && headers.accept?.includes("text/html") === true;
}

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
    defaultHeaders: KEY,
    defaultTabs: GRAPHIQL_DOCUMENTS.map((document) => ({ ...document, headers: KEY })),
    shouldPersistHeaders: false,
  });
  return promisify(gzip)(html);
}

const KEY = '{\n  "Authorization": "Bearer <your key>"\n}';
