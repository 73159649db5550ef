import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a client sent. */
export interface Received {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly accept: string;
}

export interface GatewayDouble {
  readonly url: string;
  readonly received: readonly Received[];
  stop(): Promise<void>;
}

/** A real HTTP server in the gateway's place, for answers that a healthy gateway does not give. */
export async function startGatewayDouble(
  answer: (request: Received, response: ServerResponse) => void,
): Promise<GatewayDouble> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void readText(request).then((text) => {
      const { query, variables } = JSON.parse(text) as Received;
      const one = { query, variables, accept: request.headers.accept ?? "" };
      received.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk as string;
  return text;
}

export function answerJson(response: ServerResponse, body: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export function answerError(response: ServerResponse, code: string, retryable: boolean, status = 200): void {
  answerJson(response, { errors: [{ message: `this is ${code}`, extensions: { code, retryable } }] }, status);
}

export function openStream(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "content-type": "text/event-stream" });
}

/** The frame of one task event, as the gateway writes it. */
export function eventFrame(seq: number, type = "task.output", data: unknown = { text: `line ${seq} — ünï` }): string {
  const taskEvents = { taskId: "t", seq, at: "2026-01-31T12:00:00.000Z", type, data };
  return `event: next\nid: ${seq}\ndata: ${JSON.stringify({ data: { taskEvents } })}\n\n`;
}

export const COMPLETE = "event: complete\ndata:\n\n";
