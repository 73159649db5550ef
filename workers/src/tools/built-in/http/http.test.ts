import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { call } from "../../../../testing/tool-context.ts";
import { createHttpTool } from "./index.ts";

const MIB = 1024 * 1024;
const running: Server[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(handle);
  running.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const toolFor = (port: number) => createHttpTool({ allowPrivate: [`127.0.0.1:${port}`] });

/** Tells what arrived. */
const mirror = (request: IncomingMessage, response: ServerResponse): void => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    response.setHeader("set-cookie", ["a=1", "b=2"]);
    const { method, url, headers } = request;
    response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
  });
};

interface Answer {
  status: number;
  headers: Record<string, string | string[]>;
  body: string;
  encoding?: string;
}

const ask = async (port: number, input: Record<string, unknown>): Promise<Answer> =>
  (await call(toolFor(port), { method: "GET", url: `http://127.0.0.1:${port}/`, ...input })) as Answer;

describe("http.request", () => {
  it("sends what it was given, and nothing of a browser's or a client's", async () => {
    const port = await serve(mirror);
    const answer = await ask(port, {
      method: "POST",
      url: `http://127.0.0.1:${port}/a%20b?q=1#fragment`,
      headers: { "X-One": "1", "Content-Type": "text/plain" },
      body: "naïve",
    });
    expect(answer.status).toBe(200);
    expect(answer.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect(JSON.parse(answer.body)).toMatchObject({
      method: "POST",
      url: "/a%20b?q=1",
      body: "naïve",
      headers: { host: `127.0.0.1:${port}`, "x-one": "1", "content-type": "text/plain", "content-length": "6" },
    });
  });

  it("answers bytes that are no text as base64", async () => {
    const bytes = Buffer.from([0xff, 0x00, 0x80]);
    const port = await serve((_, response) => response.end(bytes));
    expect(await ask(port, {})).toMatchObject({ body: bytes.toString("base64"), encoding: "base64" });
  });

  it("answers a failed status as an answer, not as a failure", async () => {
    const port = await serve((_, response) => response.writeHead(503).end("later"));
    expect(await ask(port, {})).toMatchObject({ status: 503, body: "later" });
  });

  it("follows no redirect: the next hop is a call of its own", async () => {
    let hops = 0;
    const port = await serve((_, response) => {
      hops++;
      response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end();
    });
    expect(await ask(port, {})).toMatchObject({
      status: 302,
      headers: { location: expect.stringContaining("169.254") },
    });
    expect(hops).toBe(1);
  });

  it("takes a whole MiB and not a byte more, whether the length was said or not", async () => {
    const full = await serve((_, response) => response.end(Buffer.alloc(MIB, 97)));
    expect((await ask(full, {})).body).toHaveLength(MIB);
    const said = await serve((_, response) => response.end(Buffer.alloc(MIB + 1, 97)));
    await expect(ask(said, {})).rejects.toMatchObject({ code: "TOOL_FAILED" });
    const endless = await serve((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", more);
      more();
    });
    await expect(ask(endless, {})).rejects.toMatchObject({ code: "TOOL_FAILED" });
  });

  it("a response that breaks off is a failure, not a short body", async () => {
    const port = await serve((_, response) => {
      response.writeHead(200, { "content-length": "100" }).write("half");
      setImmediate(() => response.destroy());
    });
    await expect(ask(port, {})).rejects.toMatchObject({ code: "TOOL_FAILED" });
  });

  it.each(["before the response", "within the body"])("ends with the signal's reason, %s", async (when) => {
    const controller = new AbortController();
    const port = await serve((_, response) => {
      if (when === "within the body") response.write("first");
      setTimeout(() => controller.abort(new Error("time is up")), 20);
    });
    const input = { method: "GET", url: `http://127.0.0.1:${port}/` };
    await expect(call(toolFor(port), input, { signal: controller.signal })).rejects.toThrow("time is up");
  });

  it("a refused connection is a coded failure", async () => {
    const port = await serve(mirror);
    for (const server of running.splice(0)) await new Promise((resolve) => server.close(resolve));
    await expect(ask(port, {})).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });
});

describe("the way in is shut", () => {
  it("to loopback, unless the operator has opened that very port", async () => {
    let calls = 0;
    const port = await serve((_, response) => {
      calls++;
      response.end();
    });
    for (const host of ["127.0.0.1", "localhost", "[::1]", "[::ffff:7f00:1]"]) {
      const input = { method: "GET", url: `http://${host}:${port}/` };
      await expect(call(createHttpTool({ allowPrivate: [`127.0.0.1:${port + 1}`] }), input)).rejects.toMatchObject({
        code: "TOOL_FAILED",
        message: expect.stringContaining("not on the public internet"),
      });
    }
    expect(calls).toBe(0);
  });

  it("to a name that changes its address after it was judged (rebinding)", async () => {
    const port = await serve(mirror);
    const answers = ["127.0.0.1", "169.254.169.254"];
    const tool = createHttpTool({
      allowPrivate: [`rebind.invalid:${port}`],
      resolve: async () => [{ address: answers.shift() ?? "0.0.0.0", family: 4 }],
    });
    const answer = (await call(tool, { method: "GET", url: `http://rebind.invalid:${port}/` })) as Answer;
    expect(JSON.parse(answer.body)).toMatchObject({ headers: { host: `rebind.invalid:${port}` } });
    expect(answers).toEqual(["169.254.169.254"]);
  });

  it.each([
    ["another host's name", { Host: "inner" }],
    ["a second length", { "content-length": "0" }],
    ["chunks", { "Transfer-Encoding": "chunked" }],
    ["an upgrade", { connection: "upgrade" }],
    ["a proxy's", { "Proxy-Authorization": "x" }],
    ["a line break", { a: "b\r\nc: d" }],
    ["a broken name", { "a b": "c" }],
    ["one header twice", { Accept: "a", accept: "b" }],
  ])("to headers with %s", async (_, headers) => {
    await expect(ask(1, { headers })).rejects.toThrow(/BAD_TOOL_INPUT/);
  });

  it.each([
    { method: "CONNECT" },
    { method: "get" },
    { method: "TRACE" },
    { body: "x" },
    { method: "POST", body: "\ud800" },
  ])("to %j", async (input) => {
    await expect(ask(1, input)).rejects.toThrow(/BAD_TOOL_INPUT/);
  });
});
