import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "..");

/** A web server of somebody else's: an empty page, and the SDK's modules as a browser takes them. */
export async function startPageServer(): Promise<{ readonly origin: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const file = request.url ?? "/";
    if (file === "/")
      return void response.setHeader("content-type", "text/html").end("<!doctype html><title>app</title>");
    readModule(file).then(
      (text) => response.setHeader("content-type", "text/javascript").end(text),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readModule(file: string): Promise<string> {
  return stripTypeScriptTypes(await readFile(path.join(ROOT, path.normalize(file)), "utf8"));
}
