import { type Agent, request } from "node:http";

export interface Frame {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

export interface EventStream extends AsyncIterable<Frame> {
  readonly status: number;
  /** Stops reading from the socket, as a client that hangs. */
  pause(): void;
  resume(): void;
  close(): void;
}

export interface StreamOptions {
  readonly lastEventId?: number | string;
  readonly variables?: unknown;
  /** A connection of its own where there is none. */
  readonly agent?: Agent;
}

/** Opens a subscription as a plain HTTP client, byte by byte. It ends when the connection does, however that is. */
export function openStream(
  url: string,
  key: string,
  query: string,
  { lastEventId, variables, agent }: StreamOptions = {},
): Promise<EventStream> {
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    authorization: `Bearer ${key}`,
    ...(lastEventId !== undefined && { "last-event-id": String(lastEventId) }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/graphql`, { method: "POST", headers, agent: agent ?? false }, (response) => {
      response.on("error", () => undefined);
      resolve({
        status: response.statusCode ?? 0,
        pause: () => void response.socket.pause(),
        resume: () => void response.socket.resume(),
        close: () => void response.destroy(),
        [Symbol.asyncIterator]: () => readFrames(response.setEncoding("utf8")),
      });
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ query, variables }));
  });
}

async function* readFrames(chunks: AsyncIterable<string>): AsyncGenerator<Frame> {
  let rest = "";
  try {
    for await (const chunk of chunks) {
      const parts = (rest + chunk).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (!part.startsWith(":")) yield toFrame(part);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") throw error;
  }
}

function toFrame(text: string): Frame {
  const fields = new Map(
    text.split("\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    }),
  );
  return { id: fields.get("id") ?? null, event: fields.get("event") ?? "message", data: fields.get("data") ?? "" };
}
