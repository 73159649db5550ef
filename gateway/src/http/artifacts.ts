import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { isId } from "@airlock/shared/contracts";
import { type ArtifactRow, type Caller, findArtifact } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import { type ByteRange, StoreError } from "@airlock/shared/files";
import type { App } from "../context.ts";
import { requireScope } from "../require-scope.ts";
import { notFound } from "../use-cases/not-found.ts";
import { rangeOf } from "./byte-range.ts";

const PREFIX = "/artifacts/";

/** The id of the file that is asked for; null: the request is for something else. */
export function artifactOf({ method, url }: IncomingMessage): string | null {
  const path = url?.split("?")[0] ?? "";
  return (method === "GET" || method === "HEAD") && path.startsWith(PREFIX) ? path.slice(PREFIX.length) : null;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The bytes of a file, as a download, at the pace of its reader. */
export async function sendArtifact(
  { db, files, log }: Pick<App, "db" | "files" | "log">,
  caller: Caller,
  id: string,
  { request, response }: Exchange,
): Promise<void> {
  requireScope(caller, "read");
  const file = isId(id) ? await findArtifact(db, caller.projectId, id) : null;
  if (file === null) throw notFound("artifact");
  const etag = `"${file.sha256.toString("hex")}"`;
  const headers = headersOf(file, etag);
  if (names(request.headers["if-none-match"], etag)) return void response.writeHead(304, headers).end();
  const range = isCurrent(request.headers["if-range"], etag) ? rangeOf(request.headers.range, file.size) : null;
  if (range === "unsatisfiable") {
    return void response.writeHead(416, { ...headers, "content-range": `bytes */${file.size}` }).end();
  }
  const length = range === null ? file.size : range.end - range.start + 1;
  const partial = range && { "content-range": `bytes ${range.start}-${range.end}/${file.size}` };
  const head = (): ServerResponse =>
    response.writeHead(range === null ? 200 : 206, { ...headers, ...partial, "content-length": length });
  if (request.method === "HEAD" || length === 0) return void head().end();
  const bytes = await openBytes(files, file, range);
  head();
  // A reader that leaves closes the source; a source that breaks cuts the answer, which its length gives away.
  await pipeline(bytes, response).catch((error: unknown) => {
    if (error instanceof Error && (error as { code?: string }).code !== "ERR_STREAM_PREMATURE_CLOSE") {
      log.warn({ err: error, artifact: file.id }, "a download was cut");
    }
    response.destroy();
  });
}

async function openBytes(files: App["files"], { project_id, sha256, size }: ArtifactRow, range: ByteRange | null) {
  try {
    return await files.open({ projectId: project_id, sha256, size }, range ?? undefined);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new ApiError("UNAVAILABLE", `the file's bytes cannot be had now: ${error.message}`, { cause: error });
  }
}

function headersOf(file: ArtifactRow, etag: string): OutgoingHttpHeaders {
  return {
    "content-type": MEDIA_TYPE.test(file.content_type) ? file.content_type : "application/octet-stream",
    "content-disposition": dispositionOf(file.name),
    etag,
    "accept-ranges": "bytes",
    // Guests write these files: a browser must neither guess at them nor run anything in them.
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-store",
  };
}

function names(header: string | undefined, etag: string): boolean {
  return header?.split(",").some((one) => one.trim().replace(/^W\//, "") === etag || one.trim() === "*") ?? false;
}

/** Without the header a range is taken as it is; with another file's, all of this one is sent. */
function isCurrent(ifRange: string | string[] | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange === etag;
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(; ?[\w.+-]+=[\w.+-]+)*$/;

/** RFC 6266: the name in plain ASCII for old readers, and as it is, percent-encoded. Folders are no part of it. */
function dispositionOf(path: string): string {
  const name = path.toWellFormed().split(/[\\/]/).at(-1) || "file";
  const plain = name.replaceAll(/[^\w. ()-]/g, "_");
  const exact = encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}
