import { type IncomingMessage, request } from "node:http";

export interface Subscribers {
  /** The first `count` stop reading. */
  pause(count: number): void;
  close(): void;
}

/** Many connections that hand each event's text to `onEvent`, with their number. Resolves when all are answered. */
export async function openSubscribers(
  count: number,
  target: { url: string; key?: string; query?: string; variables?: unknown },
  onEvent: (text: string, subscriber: number) => void,
): Promise<Subscribers> {
  const { url, key, query, variables } = target;
  const headers = {
    accept: "text/event-stream",
    "content-type": "application/json",
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };
  const open = (subscriber: number) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(url, { method: query === undefined ? "GET" : "POST", headers, agent: false }, (response) => {
        let rest = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          const parts = (rest + chunk).split("\n\n");
          rest = parts.pop() ?? "";
          for (const part of parts) if (part.includes("data: ")) onEvent(part, subscriber);
        });
        response.on("error", () => undefined);
        resolve(response);
      });
      sent.on("error", reject);
      sent.end(query === undefined ? undefined : JSON.stringify({ query, variables }));
    });
  const responses = await Promise.all(Array.from({ length: count }, (_, i) => open(i)));
  return {
    pause: (paused) => {
      for (const response of responses.slice(0, paused)) response.socket.pause();
    },
    close: () => {
      for (const response of responses) response.destroy();
    },
  };
}
