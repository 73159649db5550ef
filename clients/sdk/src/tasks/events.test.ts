import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import {
  answerError,
  answerJson,
  COMPLETE,
  eventFrame,
  type GatewayDouble,
  openStream,
  type Received,
  startGatewayDouble,
} from "../../testing/gateway-double.ts";
import { seededRandom } from "../../testing/seeded-random.ts";
import { createClient, type Patience, type TaskEvent } from "../index.ts";

const QUICK: Partial<Patience> = { delayMs: 1, maxDelayMs: 5 };
const LAST = "task.succeeded";

let gateway: GatewayDouble;
afterEach(() => gateway.stop());

/** The n-th request for a stream gets the n-th answer, and all further ones the last. */
async function startStreams(...answers: ((response: ServerResponse, after: number) => void)[]): Promise<void> {
  let n = 0;
  gateway = await startGatewayDouble(({ variables }: Received, response) => {
    const answer = answers[Math.min(n, answers.length - 1)];
    n += 1;
    answer?.(response, variables["after"] as number);
  });
}

const client = (patience = QUICK) => createClient({ url: gateway.url, key: "a-key", patience });
const events = (patience?: Partial<Patience>): AsyncIterable<TaskEvent> => client(patience).tasks.handle("t").events();

async function seqsOf(stream: AsyncIterable<TaskEvent>): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of stream) seqs.push(seq);
  return seqs;
}

const oneTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const cursors = (): unknown[] => gateway.received.map(({ variables }) => variables["after"]);
const whole = (response: ServerResponse, after: number): void =>
  void openStream(response).end(
    [1, 2, 3]
      .filter((seq) => seq > after)
      .map((seq) => eventFrame(seq, seq === 3 ? LAST : "task.output"))
      .join("") + COMPLETE,
  );

describe("a task's events", () => {
  test("500 reconnects at random moments during 5,000 events: each seq once, in order", async () => {
    const random = seededRandom(7);
    const total = 5_000;
    await startStreams((response, after) => {
      const left = oneTo(total).slice(after, after + Math.floor(random() * 19));
      const text = left.map((seq) => eventFrame(seq, seq === total ? LAST : undefined)).join("");
      const bytes = Buffer.from(`: hello\n\n${text}`);
      openStream(response);
      if (left.includes(total) && gateway.received.length > 500) return void response.end(bytes);
      // Anywhere: between frames, in the middle of one, in the middle of a character.
      const cut = bytes.subarray(0, Math.floor(random() * (bytes.length + 1)));
      response.write(cut, () => setImmediate(() => response.destroy()));
    });
    expect(await seqsOf(events())).toEqual(oneTo(total));
    expect(gateway.received.length).toBeGreaterThan(500);
  }, 120_000);

  test("repeats are dropped, and after a gap the stream goes back to where it was", async () => {
    await startStreams(
      (response) => openStream(response).write([1, 2, 1, 2, 4].map((seq) => eventFrame(seq)).join("")),
      whole,
    );
    expect(await seqsOf(events())).toEqual([1, 2, 3]);
    expect(cursors()).toEqual([0, 2]);
  });

  test.each([
    ["no JSON", "event: next\ndata: {oops\n\n"],
    ["JSON that is no answer", "event: next\ndata: 7\n\n"],
    ["neither data nor errors", 'event: next\ndata: {"data":null}\n\n'],
    ["bytes that are no UTF-8", Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a])],
    ["a seq that is no number", eventFrame("x" as unknown as number)],
  ])("a frame with %s costs a connection, not an event", async (_, junk) => {
    await startStreams((response) => {
      openStream(response).write(eventFrame(1));
      response.write(junk);
    }, whole);
    expect(await seqsOf(events())).toEqual([1, 2, 3]);
    expect(gateway.received).toHaveLength(2);
  });

  test("refusals that pass are waited out: a full house, a proxy's page, a restarting gateway", async () => {
    await startStreams(
      (response) => response.writeHead(429, { "retry-after": "0" }).end("slow down"),
      (response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>"),
      (response) => answerError(response, "UNAVAILABLE", true, 503),
      (response) => response.destroy(),
      whole,
    );
    expect(await seqsOf(events())).toEqual([1, 2, 3]);
  });

  test.each([
    ["UNAUTHENTICATED", 401],
    ["NOT_FOUND", 200],
  ])("%s does not pass, and is not tried again", async (code, status) => {
    await startStreams((response) => answerError(response, code, false, status));
    await expect(seqsOf(events())).rejects.toMatchObject({ name: "ApiError", code, retryable: false });
    expect(gateway.received).toHaveLength(1);
  });

  test("an error inside the stream ends it where it will not pass", async () => {
    const errors = [{ message: "the key was revoked", extensions: { code: "UNAUTHENTICATED", retryable: false } }];
    await startStreams((response) =>
      openStream(response).write(`${eventFrame(1)}event: next\ndata: ${JSON.stringify({ errors })}\n\n`),
    );
    await expect(seqsOf(events())).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("complete is believed only when the task is over", async () => {
    let asked = 0;
    gateway = await startGatewayDouble(({ query, variables }, response) => {
      const after = variables["after"] as number;
      if (query.includes("subscription")) {
        return after === 0 ? void openStream(response).end(eventFrame(1) + COMPLETE) : whole(response, after);
      }
      asked += 1;
      answerJson(response, { data: { task: { status: "RUNNING", events: [] } } });
    });
    expect(await seqsOf(events())).toEqual([1, 2, 3]);
    expect(asked).toBe(1);
  });

  test("a connection that went silent is replaced", async () => {
    await startStreams((response) => openStream(response).write(eventFrame(1)), whole);
    expect(await seqsOf(events({ ...QUICK, silenceMs: 200 }))).toEqual([1, 2, 3]);
  });

  test("a gateway that stays away is given up", async () => {
    await startStreams((response) => response.destroy());
    await expect(seqsOf(events({ ...QUICK, reconnectForMs: 50 }))).rejects.toMatchObject({
      name: "ConnectionError",
      code: "UNREACHABLE",
      retryable: true,
    });
  });

  test("the reader may leave: by its signal while nothing comes, or by break", async () => {
    await startStreams((response) => openStream(response).write(eventFrame(1)));
    const leaving = new AbortController();
    const stream = client().tasks.handle("t").events({ signal: leaving.signal })[Symbol.asyncIterator]();
    expect((await stream.next()).value).toMatchObject({ seq: 1 });
    const second = stream.next();
    leaving.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");

    for await (const { seq } of events()) {
      expect(seq).toBe(1);
      break;
    }
  });

  test("begins after the cursor that is given", async () => {
    await startStreams(whole);
    expect(await seqsOf(client().tasks.handle("t").events({ after: 2 }))).toEqual([3]);
    expect(cursors()).toEqual([2]);
  });
});
