import { parse, validate } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { schema } from "../schema/index.ts";
import { GRAPHIQL_DOCUMENTS } from "./graphiql-documents.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

test("a browser gets GraphiQL without a key, with the ready documents, and loads nothing from elsewhere", async () => {
  const response = await gateway.client(null).raw({ headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-security-policy")).toContain("default-src 'self'");
  const html = await response.text();
  for (const { query } of GRAPHIQL_DOCUMENTS) expect(html).toContain(JSON.stringify(query));
  expect(html).toContain("API key");
  expect(html).not.toMatch(/<(script|link)[^>]+(src|href)="https?:/);
});

test("a page that is loaded again, with its query in the address, is the page again", async () => {
  const again = { path: "/graphql?query={__typename}", headers: { accept: "text/html" } };
  expect((await gateway.client(null).raw(again)).headers.get("content-type")).toContain("text/html");
});

test("whoever asks for data instead needs a key", async () => {
  expect((await gateway.client(null).raw({ headers: { accept: "application/json" } })).status).toBe(401);
  const withKey = { path: "/graphql?query={__typename}", headers: { accept: "text/html, application/json" } };
  const answer = await gateway.client(ADMIN_KEY).raw(withKey);
  expect(await answer.json()).toEqual({ data: { __typename: "Query" } });
});

test.each(GRAPHIQL_DOCUMENTS.map(({ query }) => [query]))("a ready document is valid: %s", (query) => {
  expect(validate(schema, parse(query))).toEqual([]);
});
