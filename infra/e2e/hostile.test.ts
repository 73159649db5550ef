import { createTestDatabase, type Fleet, startFleet, type TestDatabase } from "@airlock/shared/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run, type TaskView } from "./tasks.ts";

let database: TestDatabase;
let fleet: Fleet;

beforeAll(async () => {
  database = await createTestDatabase();
  fleet = await startFleet({ databaseUrl: database.url, redisUrl: null });
});

afterAll(async () => {
  await fleet.stop();
  await database.drop();
});

interface Hostile {
  readonly name: string;
  readonly code: string;
  readonly ends: string;
  readonly error: string;
  readonly says: RegExp;
}

const TIMEOUT = { ends: "TIMED_OUT", error: "TIMEOUT", says: /1000 ms|1 s/ };
const GUEST_ERROR = { ends: "FAILED", error: "GUEST_ERROR" };

const CASES: readonly Hostile[] = [
  { name: "an endless loop", code: "while (true) {}", ...TIMEOUT },
  { name: "an endless native loop", code: `Array.prototype.join.call({ length: 4e9 }, "")`, ...TIMEOUT },
  {
    name: "an endless chain of microtasks",
    code: "await new Promise(() => { const f = () => void Promise.resolve().then(f); f(); })",
    ...TIMEOUT,
  },
  { name: "an endless loop of awaits", code: "for (;;) await null", ...TIMEOUT },
  {
    name: "a chain of promises, each kept by the one before it",
    code: "await new Promise(() => { const f = () => Promise.resolve().then(f); f(); })",
    ends: "FAILED",
    error: "OUT_OF_MEMORY",
    says: /memory/,
  },
  { name: "a catastrophic regular expression", code: `/^(a+)+$/.test("a".repeat(40) + "b")`, ...TIMEOUT },
  { name: "a timer beyond the limit", code: "await new Promise((r) => setTimeout(r, 2500))", ...TIMEOUT },
  {
    name: "arrays without end",
    code: "const a = []; while (true) a.push(new Array(1000).fill(1))",
    ends: "FAILED",
    error: "OUT_OF_MEMORY",
    says: /memory/,
  },
  {
    name: "a string that doubles",
    code: `let s = "x".repeat(1024); while (true) s = s + s + "y"`,
    ends: "FAILED",
    error: "OUT_OF_MEMORY",
    says: /memory/,
  },
  {
    name: "output without end",
    code: `const s = "x".repeat(1e6); for (let i = 0; i < 1000; i++) console.log(s)`,
    ends: "FAILED",
    error: "OUTPUT_LIMIT",
    says: /output|print/,
  },
  {
    name: "a result of 100 MB",
    code: `return "x".repeat(1e8)`,
    ends: "FAILED",
    error: "OUTPUT_LIMIT",
    says: /result|return/,
  },
  {
    name: "a result of 100 MB out of a small value",
    code: `return Array(1e6).fill("x".repeat(100))`,
    ends: "FAILED",
    error: "OUTPUT_LIMIT",
    says: /result|return/,
  },
  { name: "recursion", code: "const f = () => f() + 1; return f()", ...GUEST_ERROR, says: /stack/i },
  { name: "a syntax error", code: "return (1 +", ...GUEST_ERROR, says: /./ },
  { name: "throw null", code: "throw null", ...GUEST_ERROR, says: /null/ },
  { name: "throw undefined", code: "throw undefined", ...GUEST_ERROR, says: /undefined/ },
  {
    name: "an unhandled rejection",
    code: "Promise.reject(new Error('nobody listens')); await new Promise((r) => setTimeout(r, 20)); return 1",
    ...GUEST_ERROR,
    says: /nobody listens/,
  },
  { name: "a promise that never settles", code: "await new Promise(() => {})", ...GUEST_ERROR, says: /settle/ },
  { name: "a BigInt result", code: "return 1n", ...GUEST_ERROR, says: /BigInt/i },
  {
    name: "a broken Promise.prototype.then",
    code: "Promise.prototype.then = null; await 1; throw new Error('still here')",
    ...GUEST_ERROR,
    says: /./,
  },
];

describe("a hostile guest ends by itself, coded, while another one next to it succeeds", () => {
  it.each(CASES)("$name: $error", async ({ code, ends, error, says }) => {
    const [hostile, neighbour] = await Promise.all([
      run(fleet.api, code, { timeoutMs: error === "TIMEOUT" ? 1_000 : 20_000 }),
      run(fleet.api, "await new Promise((r) => setTimeout(r, 50)); return 'well'"),
    ]);
    expect({ status: hostile.status, code: hostile.error?.code }).toEqual({ status: ends, code: error });
    expect(hostile.error?.message).toMatch(says);
    expect(neighbour).toMatchObject({ status: "SUCCEEDED", output: "well", segments: 1 });
  });

  it("recursion can be caught, and the program goes on", async () => {
    const code = "const f = () => f() + 1; try { f(); } catch (e) { return e instanceof RangeError }";
    expect(await run(fleet.api, code)).toMatchObject({ status: "SUCCEEDED", output: true });
  });

  it("an error points at the author's own line", async () => {
    const task: TaskView = await run(
      fleet.api,
      "type A = {\n  b: number;\n};\nconst a: A = { b: 1 };\nthrow new Error('on line 5 ' + a.b);",
    );
    expect(task.error).toMatchObject({ code: "GUEST_ERROR", retryable: false });
    expect(task.error?.stack).toMatch(/task\.ts:5:/);
  });

  it("the promised globals are there and the forbidden ones are not", async () => {
    const code = `
      const there = ["console", "setTimeout", "clearTimeout", "queueMicrotask", "URL", "URLSearchParams", "TextEncoder",
        "TextDecoder", "structuredClone", "atob", "btoa"].filter((name) => !(name in globalThis));
      const away = ["fetch", "process", "require", "std", "os", "Deno", "XMLHttpRequest"].filter((name) => name in globalThis);
      return { there, away, uuid: typeof crypto.randomUUID(), now: typeof performance.now(),
        random: crypto.getRandomValues(new Uint8Array(4)).length, url: new URL("http://a.b/c?d=1").searchParams.get("d") };`;
    expect((await run(fleet.api, code)).output).toEqual({
      there: [],
      away: [],
      uuid: "string",
      now: "number",
      random: 4,
      url: "1",
    });
  });
});
