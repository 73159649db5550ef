import { ConnectionError } from "../errors.ts";
import { isPassing, readAnswer } from "./answer.ts";
import { delayBefore, type Patience, pause } from "./backoff.ts";
import { type Endpoint, unreachable } from "./endpoint.ts";
import type { RequestOptions } from "./request.ts";
import { watch } from "./watchdog.ts";

/** A file on its way. */
export interface Download {
  readonly size: number;
  readonly contentType: string;
  /** Hex; of the whole file. */
  readonly sha256: string;
  /** To be read, and once, at the reader's pace; goes on by itself where the connection is lost. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

interface Part {
  readonly response: Response;
  readonly watchdog: ReturnType<typeof watch>;
}

export async function download(
  endpoint: Endpoint,
  patience: Patience,
  id: string,
  { signal }: RequestOptions = {},
): Promise<Download> {
  const url = `${endpoint.url.slice(0, -"/graphql".length)}/artifacts/${encodeURIComponent(id)}`;

  async function ask(headers: Record<string, string>): Promise<Part> {
    const watchdog = watch(patience.silenceMs, signal);
    try {
      // Bytes as they are: what is packed on the way has another length.
      const authorized = { ...headers, "accept-encoding": "identity", authorization: `Bearer ${endpoint.key}` };
      const response = await endpoint.fetch(url, { headers: authorized, signal: watchdog.signal, redirect: "error" });
      if (response.ok) return { response, watchdog };
      return await readAnswer<never>(response);
    } catch (error) {
      const silent = watchdog.signal.aborted;
      watchdog.stop();
      signal?.throwIfAborted();
      throw error instanceof TypeError || silent ? unreachable(endpoint, error) : error;
    }
  }

  async function askPatiently(headers: Record<string, string>): Promise<Part> {
    for (let repeat = 0; ; repeat += 1) {
      try {
        return await ask(headers);
      } catch (error) {
        if (!isPassing(error) || repeat + 1 >= patience.attempts) throw error;
        await pause(delayBefore(repeat, patience, error), signal);
      }
    }
  }

  const first = await askPatiently({});
  const etag = first.response.headers.get("etag") ?? "";
  const size = Number(first.response.headers.get("content-length"));

  async function* bytes(): AsyncGenerator<Uint8Array, void> {
    let received = 0;
    for (let part = first; ; part = await askPatiently({ range: `bytes=${received}-`, "if-range": etag })) {
      if (received > 0 && part.response.status !== 206) {
        part.watchdog.stop();
        throw new ConnectionError("BAD_ANSWER", `${url} does not go on where it was cut`);
      }
      const before = received;
      for await (const chunk of piecesOf(part)) {
        received += chunk.length;
        yield chunk;
      }
      signal?.throwIfAborted();
      if (received >= size) return;
      if (received === before) throw new ConnectionError("UNREACHABLE", `${url} ends before the file does`);
    }
  }

  return {
    size,
    contentType: first.response.headers.get("content-type") ?? "",
    sha256: etag.replaceAll('"', ""),
    bytes: bytes(),
  };
}

/** Ends where the connection does, for whatever reason. */
async function* piecesOf({ response, watchdog }: Part): AsyncGenerator<Uint8Array, void> {
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const piece = await reader?.read().catch(() => undefined);
      if (piece?.value === undefined) return;
      watchdog.heard();
      yield piece.value;
      // However long the reader took: that was not the gateway's silence.
      watchdog.heard();
    }
  } finally {
    watchdog.stop();
  }
}
