import type { IncomingMessage, ServerResponse } from "node:http";
import { isId } from "@airlock/shared/contracts";
import { type Caller, type Database, findArtifactContent } from "@airlock/shared/db";
import { requireScope } from "../require-scope.ts";
import { notFound } from "../use-cases/not-found.ts";

const PREFIX = "/artifacts/";

/** The id of the file that is asked for; null: the request is for something else. */
export function artifactOf({ method, url }: IncomingMessage): string | null {
  const path = url?.split("?")[0] ?? "";
  return (method === "GET" || method === "HEAD") && path.startsWith(PREFIX) ? path.slice(PREFIX.length) : null;
}

/** The bytes of a file, as a download. */
export async function sendArtifact(db: Database, caller: Caller, id: string, response: ServerResponse): Promise<void> {
  requireScope(caller, "read");
  const file = isId(id) ? await findArtifactContent(db, caller.projectId, id) : null;
  if (file === null) throw notFound("artifact");
  response.writeHead(200, {
    "content-type": MEDIA_TYPE.test(file.content_type) ? file.content_type : "application/octet-stream",
    "content-length": file.content.length,
    "content-disposition": dispositionOf(file.name),
    // Guests write these files: a browser must neither guess at them nor run anything in them.
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, no-store",
  });
  response.end(file.content);
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(; ?[\w.+-]+=[\w.+-]+)*$/;

/** RFC 6266: the name in plain ASCII for old readers, and as it is, percent-encoded. Folders are no part of it. */
function dispositionOf(path: string): string {
  const name = path.toWellFormed().split(/[\\/]/).at(-1) || "file";
  const plain = name.replaceAll(/[^\w. ()-]/g, "_");
  const exact = encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}
