import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT } from "../../testing/operations.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ requestTimeoutMs: 1_000 });
});
afterAll(() => gateway.stop());

const JSON_TYPE = { "content-type": "application/json" };
const MiB = 1024 * 1024;

async function snapshot(): Promise<unknown> {
  const { rows } = await sql`select (select count(*) from tasks) as tasks, (select count(*) from api_keys) as keys,
    (select count(*) from projects) as projects, (select count(*) from audit_log) as audits`.execute(gateway.db);
  return rows;
}

describe("without a valid key", () => {
  const bodies = [
    SUBMIT.replace("($input: SubmitTaskInput!)", "").replace("$input", '{code: "1"}'),
    'mutation { createProject(name: "p") { id } }',
    "{ __schema { types { name } } }",
    "{",
  ];
  const headers: Record<string, string>[] = [
    {},
    { authorization: "Bearer nope" },
    { authorization: `Basic ${ADMIN_KEY}` },
    { authorization: "Bearer" },
    { authorization: `Bearer ${"x".repeat(5_000)}` },
  ];

  test("every call is UNAUTHENTICATED and has no effect", async () => {
    const before = await snapshot();
    for (const extra of headers) {
      for (const query of bodies) {
        const init = { method: "POST", headers: { ...JSON_TYPE, ...extra }, body: JSON.stringify({ query }) };
        const response = await gateway.client(null).raw(init);
        expect(response.status).toBe(401);
        expect(await response.json()).toEqual({
          errors: [
            {
              message: expect.stringContaining("Authorization: Bearer"),
              extensions: { code: "UNAUTHENTICATED", retryable: false },
            },
          ],
        });
      }
      for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
        const response = await gateway
          .client(null)
          .raw({ method, headers: extra, path: "/graphql?query={__typename}" });
        expect(response.status).toBe(401);
      }
    }
    expect(await snapshot()).toEqual(before);
  });

  test("an oversized body is refused for the missing key, unread", async () => {
    const body = Buffer.alloc(33 * MiB);
    expect((await gateway.client(null).raw({ method: "POST", headers: JSON_TYPE, body })).status).toBe(401);
  });
});

test("health, readiness and metrics need no key and other paths are not found", async () => {
  const open = gateway.client(null);
  expect((await open.raw({ path: "/healthz" })).status).toBe(200);
  const ready = await open.raw({ path: "/readyz" });
  expect(await ready.json()).toMatchObject({ ready: true, parts: { database: "ok", queue: "ok", bus: "ok" } });
  await gateway.admin.data("query Whatever { queueStats { runnable } }");
  await gateway.admin.send("query Nonsense { nonsense }");
  const metrics = await (await open.raw({ path: "/metrics" })).text();
  expect(metrics).toMatch(/airlock_gateway_requests_total\{operation="queueStats",code="OK"[^}]*\} 1/);
  expect(metrics).toMatch(/airlock_gateway_requests_total\{operation="none",code="BAD_INPUT"/);
  expect(metrics).not.toMatch(/Whatever|Nonsense|nonsense/);
  for (const path of ["/", "/graphqlx", "/graphql/x", "/..%2f", "/health"]) {
    const response = await gateway.admin.raw({ path });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: "NOT_FOUND" } }] });
  }
});

describe("bodies", () => {
  test("an announced oversized body is refused at once", async () => {
    const response = await gateway.admin.raw({
      method: "POST",
      headers: JSON_TYPE,
      body: Buffer.alloc(33 * MiB, 0x20),
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: "TOO_LARGE", retryable: false } }] });
  });

  test("an oversized body that is not announced is refused while it arrives", async () => {
    const stream = new ReadableStream({
      pull(controller) {
        this.sent = (this.sent ?? 0) + 1;
        if (this.sent > 40) controller.close();
        else controller.enqueue(new Uint8Array(MiB).fill(0x20));
      },
    } as UnderlyingDefaultSource & { sent?: number });
    const response = await gateway.admin.raw({ method: "POST", headers: JSON_TYPE, body: stream, duplex: "half" });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: "TOO_LARGE" } }] });
  });

  test("a body of 31 MiB is read", async () => {
    const body = JSON.stringify({ query: "{ __typename }", variables: { x: "y".repeat(31 * MiB) } });
    const response = await gateway.admin.raw({ method: "POST", headers: JSON_TYPE, body });
    expect(await response.json()).toEqual({ data: { __typename: "Query" } });
  });

  test("a body that never arrives is dropped and holds up nobody", async () => {
    const { port } = new URL(gateway.url);
    const head = `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
    const slow = Array.from({ length: 20 }, () =>
      connect(Number(port), "127.0.0.1", function (this: ReturnType<typeof connect>) {
        this.write(head);
        this.resume();
      }),
    );
    const closed = slow.map((socket) => once(socket, "close"));
    expect(await gateway.admin.data("{ __typename }")).toEqual({ __typename: "Query" });
    await Promise.all(closed);
    expect(await gateway.admin.data("{ __typename }")).toEqual({ __typename: "Query" });
  });

  test("a sender that goes away in mid-body harms nobody", async () => {
    const headers = { ...JSON_TYPE, authorization: `Bearer ${ADMIN_KEY}`, "content-length": "1000" };
    const request = httpRequest(`${gateway.url}/graphql`, { method: "POST", headers });
    request.on("error", () => undefined);
    request.write("{");
    await once(request, "socket");
    request.destroy();
    expect(await gateway.admin.data("{ __typename }")).toEqual({ __typename: "Query" });
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/graphql",
  ])("the content type %s is refused", async (type) => {
    const response = await gateway.admin.raw({
      method: "POST",
      headers: { "content-type": type },
      body: "query={__typename}",
    });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
  });
});

describe("GraphQL over HTTP", () => {
  test("queries by GET work, mutations by GET do not", async () => {
    const query = await gateway.admin.raw({ path: `/graphql?query=${encodeURIComponent("{ __typename }")}` });
    expect(await query.json()).toEqual({ data: { __typename: "Query" } });
    const mutation = await gateway.admin.raw({
      path: `/graphql?query=${encodeURIComponent('mutation { createProject(name: "p") { id } }')}`,
    });
    expect(mutation.status).toBe(405);
    expect(await mutation.json()).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
    const junk = await gateway.admin.raw({ path: "/graphql?query={__typename}&variables={" });
    expect(await junk.json()).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
  });

  test("a bad document is 400 for graphql-response+json and 200 for json", async () => {
    for (const [accept, status] of [
      ["application/graphql-response+json", 400],
      ["application/json", 200],
    ] as const) {
      const response = await gateway.admin.raw({
        method: "POST",
        headers: { ...JSON_TYPE, accept },
        body: '{"query":"{ x"}',
      });
      expect(response.status).toBe(status);
      expect(response.headers.get("content-type")).toContain(accept);
    }
  });

  test("introspection works in full", async () => {
    const { getIntrospectionQuery } = await import("graphql");
    expect(await gateway.admin.data(getIntrospectionQuery())).toMatchObject({
      __schema: { queryType: { name: "Query" } },
    });
  });
});

describe("queries that ask for too much", () => {
  const nested = (levels: number): string =>
    "{ tasks { edges { node { " + "retryOf { ".repeat(levels) + "id" + " }".repeat(levels) + " } } } }";
  const aliases = (n: number, of: string): string =>
    `{ ${Array.from({ length: n }, (_, i) => `a${i}: ${of}`).join(" ")} }`;
  const bomb = Array.from(
    { length: 15 },
    (_, i) => `fragment f${i} on Task { a: retryOf { ...f${i + 1} } b: retryOf { ...f${i + 1} } }`,
  ).join(" ");
  test.each([
    ["depth", nested(40)],
    ["absurd depth", nested(4_000)],
    ["aliases", aliases(240, 'task(id: "x") { id }')],
    ["many aliases", aliases(1_500, 'task(id: "x") { id }')],
    ["one field many times", `{ ${'task(id: "x") { id } '.repeat(1_500)} }`],
    ["tokens", `{ ${"__typename ".repeat(30_000)} }`],
    ["cost", "{ tasks(first: 100) { edges { node { events(first: 1000) { seq } } } } }"],
    [
      "nested lists",
      "{ tasks(first: 100) { edges { node { batch { tasks(first: 100) { edges { node { id } } } } } } } }",
    ],
    ["a fragment bomb", `{ tasks { edges { node { ...f0 } } } } ${bomb} fragment f15 on Task { id }`],
    ["a fragment cycle", "{ tasks { edges { node { ...a } } } } fragment a on Task { retryOf { ...a } }"],
    [
      "deep introspection",
      "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }",
    ],
    ["directives", `{ __typename ${"@skip(if: false) ".repeat(3_000)} }`],
  ])("%s", async (_, query) => {
    expect(await gateway.admin.failure(query)).toMatchObject({ code: "BAD_INPUT", retryable: false });
  });
});
