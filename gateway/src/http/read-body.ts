import type { IncomingMessage } from "node:http";
import { ApiError } from "@airlock/shared/domain";

/** Room for 10,000 tasks of 3 kB each. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

export function tooLarge(): ApiError {
  return new ApiError("TOO_LARGE", `the request's body is over ${MAX_BODY_BYTES} bytes; send less at once`);
}

/** True where the head of the request already says that its body is over the limit. */
export function announcesTooMuch(request: IncomingMessage): boolean {
  return Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES;
}

/** Parsed JSON. Holds at most the limit in memory, whatever is sent. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const text = decode(await readBytes(request));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError("BAD_INPUT", `the request's body is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ApiError("BAD_INPUT", "the request's body is not valid UTF-8; encode it as UTF-8");
  }
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
      else {
        request.off("data", onData);
        reject(tooLarge());
      }
    };
    request.on("data", onData);
    request.once("end", () => resolve(Buffer.concat(chunks, size)));
    request.once("error", reject);
    request.once("close", () => reject(new ApiError("BAD_INPUT", "the request ended before its body did")));
  });
}
