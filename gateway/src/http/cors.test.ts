import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { parseEnv } from "../env.ts";

const PAGE = "https://app.example.com";
const ASK = { method: "POST", body: '{"query":"{ __typename }"}' };

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ corsOrigins: [PAGE] });
});
afterAll(() => gateway.stop());

const ask = (origin: string, key: string | null = ADMIN_KEY) =>
  gateway.client(key).raw({ ...ASK, headers: { "content-type": "application/json", origin } });
const preflight = (origin: string, path = "/graphql") =>
  gateway.client(null).raw({ path, method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } });
const allowed = (response: Response) => response.headers.get("access-control-allow-origin");

describe("where AIRLOCK_CORS_ORIGINS names an origin", () => {
  test("its pages may ask with a key, and read answers and failures", async () => {
    const asked = await preflight(PAGE);
    expect(asked.status).toBe(204);
    expect(allowed(asked)).toBe(PAGE);
    for (const header of ["authorization", "content-type", "last-event-id"]) {
      expect(asked.headers.get("access-control-allow-headers")).toContain(header);
    }
    expect(allowed(await ask(PAGE))).toBe(PAGE);
    const refused = await ask(PAGE, "unknown-key");
    expect([refused.status, allowed(refused)]).toEqual([401, PAGE]);
    const file = await gateway.client(ADMIN_KEY).raw({ path: "/artifacts/x", headers: { origin: PAGE } });
    expect([file.status, allowed(file)]).toEqual([404, PAGE]);
  });

  test("others are told nothing, however alike they look, and caches keep the answers apart", async () => {
    for (const origin of ["https://app.example.com.evil.test", "http://app.example.com", "null", `${PAGE}:444`]) {
      expect(allowed(await preflight(origin))).toBeNull();
      const answer = await ask(origin);
      expect([allowed(answer), answer.headers.get("vary")]).toEqual([null, "origin"]);
    }
  });

  test("no cookie is ever asked for", async () => {
    for (const answer of [await preflight(PAGE), await ask(PAGE)]) {
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    }
  });
});

test("without AIRLOCK_CORS_ORIGINS no page of another origin may read anything", async () => {
  const closed = await startTestGateway();
  try {
    const init = { ...ASK, headers: { "content-type": "application/json", origin: PAGE } };
    expect(allowed(await closed.client(ADMIN_KEY).raw(init))).toBeNull();
    expect(allowed(await closed.client(null).raw({ method: "OPTIONS", headers: { origin: PAGE } }))).toBeNull();
  } finally {
    await closed.stop();
  }
});

test("what is no origin is refused at the start, and named", () => {
  const parse = (origins: string) => parseEnv({ DATABASE_URL: "postgres://x", AIRLOCK_CORS_ORIGINS: origins });
  expect([...parse(` ${PAGE}, http://localhost:3000 ,`).corsOrigins]).toEqual([PAGE, "http://localhost:3000"]);
  for (const wrong of ["*", "app.example.com", `${PAGE}/`, "HTTPS://App.example.com", "file://"]) {
    expect(() => parse(`${PAGE},${wrong}`)).toThrow(`AIRLOCK_CORS_ORIGINS: ${JSON.stringify(wrong)}`);
  }
});
