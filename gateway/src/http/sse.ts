import type { ServerResponse } from "node:http";
import type { ExecutionResult } from "graphql";
import type { LiveResults } from "../live/live-results.ts";
import { eventIdOf } from "../live/subscribe.ts";
import { toPublic } from "./coded-error.ts";

/** Below the 15 s and more after which proxies drop connections that say nothing. */
const KEEP_ALIVE_MS = 12_000;
const KEEP_ALIVE = ":\n\n";
const MAX_GATHERED = 64 * 1024;
/** A revoked key must not have a connection for longer than 5 s, 3 of which may pass before that is noticed. */
export const LAST_WORDS_MS = 1_000;

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  // nginx would otherwise gather the events.
  "x-accel-buffering": "no",
};

export function acceptsEvents(accept: string | undefined): boolean {
  return accept === undefined || /text\/event-stream|text\/\*|\*\/\*/i.test(accept);
}

/** Distinct-connections mode of the graphql-sse protocol: one `next` for each result, then `complete`. */
export async function sendEvents(response: ServerResponse, results: LiveResults): Promise<void> {
  const writer = createWriter(response);
  response.once("close", () => void results.return());
  if (response.destroyed) await results.return();
  results.onCut(() => {
    // A reader that has stopped would never take them.
    const timer = setTimeout(() => response.destroy(), LAST_WORDS_MS);
    response.once("close", () => clearTimeout(timer));
  });
  response.writeHead(200, HEADERS);
  // At once, also where the first event is far: the client sees that it is connected.
  response.write(KEEP_ALIVE);
  const keepAlive = setInterval(() => {
    if (!response.writableNeedDrain) writer.add(KEEP_ALIVE);
  }, KEEP_ALIVE_MS);
  try {
    for await (const result of results) {
      writer.add(frameOf(result));
      if (response.writableNeedDrain) await writer.drained();
    }
  } finally {
    clearInterval(keepAlive);
    // Without `complete` the client connects again, and goes on after the last id that it has.
    if (!results.cutShort) writer.add("event: complete\ndata:\n\n");
    writer.flush();
    response.end();
  }
}

/** Gathers what is added while the event loop does not turn: many events leave in one packet. */
function createWriter(response: ServerResponse) {
  let gathered = "";
  let goOn: () => void = () => undefined;
  response.on("drain", () => goOn());
  response.once("close", () => goOn());

  function flush(): void {
    if (gathered === "") return;
    response.write(gathered);
    gathered = "";
  }

  return {
    add(text: string): void {
      // Runs when the promises that are settled now have all been seen to.
      if (gathered === "") process.nextTick(flush);
      gathered += text;
      if (gathered.length > MAX_GATHERED) flush();
    },
    flush,
    /** Resolves when the client has read on, or is gone. */
    async drained(): Promise<void> {
      if (!response.destroyed) await new Promise<void>((resolve) => (goOn = resolve));
    },
  };
}

const frames = new WeakMap<ExecutionResult, string>();

/** Subscribers who share a result share its text. */
function frameOf(result: ExecutionResult): string {
  let frame = frames.get(result);
  if (frame === undefined) {
    const id = eventIdOf(result);
    frame = `${id === undefined ? "" : `id: ${id}\n`}event: next\ndata: ${JSON.stringify(toPublic(result))}\n\n`;
    frames.set(result, frame);
  }
  return frame;
}
