import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createSchema, createYoga } from "graphql-yoga";

/**
 * A program of its own, as the gateway is one: the same events at the same pace, as an async generator of yoga at
 * /graphql and as plain writes at /raw. Each event carries the time at which it was made. Prints its port.
 * usage: bare-stream.ts <milliseconds between bursts> <events a burst>
 */
const [gapMs = 10, burst = 1] = process.argv.slice(2).map(Number);

interface Tick {
  readonly seq: number;
  readonly at: string;
}

let seq = 0;
let tell: (ticks: readonly Tick[]) => void = () => undefined;
let next = nextBurst();
const raw = new Set<ServerResponse>();

function nextBurst(): Promise<readonly Tick[]> {
  return new Promise((resolve) => (tell = resolve));
}

setInterval(() => {
  const at = String(performance.timeOrigin + performance.now());
  const ticks = Array.from({ length: burst }, () => ({ seq: ++seq, at }));
  const text = ticks.map((tick) => `data: ${JSON.stringify(tick)}\n\n`).join("");
  const done = tell;
  next = nextBurst();
  done(ticks);
  for (const response of raw) response.write(text);
}, gapMs);

const yoga = createYoga({
  logging: false,
  schema: createSchema({
    typeDefs: "type Query { x: Int } type Tick { seq: Int! at: String! } type Subscription { tick: Tick! }",
    resolvers: {
      Subscription: {
        tick: {
          async *subscribe() {
            for (;;) for (const tick of await next) yield { tick };
          },
        },
      },
    },
  }),
});

const server = createServer((request, response) => {
  if (request.url !== "/raw") return void yoga(request, response);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  raw.add(response);
  response.once("close", () => raw.delete(response));
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
