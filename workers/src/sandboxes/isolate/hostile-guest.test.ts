import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { createIsolateProvider, type IsolateProvider } from "./index.ts";

interface Hostile {
  readonly name: string;
  readonly code: string;
  /** JSON text, where the program has every right to a result in spite of what it did. */
  readonly returns?: string;
  /** What it has every right to see printed. */
  readonly prints?: string;
  /** The message of its own failure. */
  readonly fails?: string;
}

const HOSTILE: readonly Hostile[] = [
  {
    name: "replaces Promise.prototype.then",
    code: "Promise.prototype.then = () => { throw 1 }; await null; return 1",
    returns: "1",
  },
  {
    name: "replaces Promise and its statics",
    code: "Promise.resolve = Promise.reject = null; globalThis.Promise = null; await null; return 1",
    returns: "1",
  },
  {
    name: "puts setters on Array.prototype",
    code: `for (const i of [0, 1, 2]) Object.defineProperty(Array.prototype, i, { set() { throw new Error("set") } });
           console.log({ a: "shown" }); setTimeout(() => {}, 1); await null`,
    returns: "null",
  },
  {
    name: "takes iteration away",
    code: "delete Array.prototype[Symbol.iterator]; console.log([1, { a: 2 }], new Map()); return [1]",
    returns: "[1]",
  },
  {
    name: "replaces JSON",
    code: 'JSON.stringify = () => "stolen"; JSON.parse = null; globalThis.JSON = null; return { a: 1 }',
    returns: '{"a":1}',
  },
  {
    name: "puts getters for the glue's own words on Object.prototype",
    code: `for (const key of ["name", "message", "stack", "kind", "code", "due", "real", "every", "run", "id"])
             Object.defineProperty(Object.prototype, key, { get() { throw new Error("got " + key) }, set() {} });
           console.log({ a: 1 }); await new Promise((resolve) => setTimeout(resolve, 1)); return 1`,
  },
  {
    name: "puts descriptor fields on Object.prototype",
    code: `Object.prototype.get = Object.prototype.set = () => "got"; Object.prototype.value = "got";
           Object.prototype.enumerable = false;
           console.log({ a: 1 }); return 1`,
    returns: "1",
    prints: "{ a: 1 }\n",
  },
  {
    name: "replaces the methods that the glue is made of",
    code: `const map = new Map([["k", /x/g]]);
           for (const type of [Function, String, Number, Map, Set, Date, RegExp, Symbol, Object, Error])
             for (const key of Reflect.ownKeys(type.prototype))
               if (key !== "constructor" && typeof Object.getOwnPropertyDescriptor(type.prototype, key).value === "function")
                 try { type.prototype[key] = () => { throw "replaced" } } catch {}
           for (const key of Reflect.ownKeys(Math)) try { Math[key] = null } catch {}
           setTimeout(() => {}, 1); console.log("%s %d", { a: 1 }, 2, [map]); return 1`,
    returns: "1",
    prints: "{ a: 1 } 2 [ Map(1) { 'k' => /x/g } ]\n",
  },
  {
    name: "replaces what template literals are made of",
    code: 'String.prototype.concat = () => "stolen"; console.log({ a: [1, "b"] }, 2n); throw new Error("boom")',
    prints: "{ a: [ 1, 'b' ] } 2n\n",
    fails: "Error: boom",
  },
  {
    name: "asks to be called for every stack, with the functions on it",
    code: `const got = []; Error.prepareStackTrace = (error, sites) => { got.push(sites); return "mine" };
           Error.stackTraceLimit = { valueOf() { got.push(1); return 5 } };
           console.log({}, new Error("x").stack === "mine"); try { await tools.a(1n) } catch {} return got.length`,
    returns: "0",
    prints: "{} false\n",
  },
  {
    name: "is a proxy of an array whose length is an object",
    code: `const length = { valueOf() { console.log("asked"); return 1 }, toString() { console.log("asked"); return "1" } };
           console.log(new Proxy([1], { getOwnPropertyDescriptor: (target, key) => key === "length"
             ? { value: length, writable: true, enumerable: false, configurable: false } : undefined })); return 1`,
    returns: "1",
  },
  {
    name: "gives typed arrays another length",
    code: `Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), "length", { get: () => 1e9 });
           return crypto.getRandomValues(new Uint8Array(4)).byteLength`,
    returns: "4",
  },
  {
    name: "deletes every global",
    code: "const all = globalThis, { ownKeys, deleteProperty } = Reflect; ownKeys(all).forEach((key) => deleteProperty(all, key)); return { a: [1] }",
    returns: '{"a":[1]}',
  },
  {
    name: "throws an error whose every property throws",
    code: `const error = new Error("x");
           for (const key of ["name", "message", "stack", "cause"])
             Object.defineProperty(error, key, { get() { throw error } });
           console.log(error); throw error`,
  },
  {
    name: "throws a proxy of an error",
    code: "throw new Proxy(new Error(), { get() { throw 1 }, getPrototypeOf() { throw 2 } })",
  },
  {
    name: "throws an error that is its own cause",
    code: "const e = new Error(); e.cause = e; console.log(e); throw e",
  },
  {
    name: "returns a thenable that settles many times",
    code: "return { then(ok) { ok(1); ok(2); throw 3 } }",
    returns: "1",
  },
  { name: "returns itself without end", code: "const o = { toJSON() { return { o } } }; return o" },
  {
    name: "returns a value nested beyond any stack",
    code: "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o",
  },
  { name: "recurses in a getter", code: "const o = { get a() { return o.a } }; return o.a" },
  {
    name: "prints itself nested beyond any stack",
    code: "let o = []; for (let i = 0; i < 1e5; i++) o = [o]; console.log(o); return 1",
    returns: "1",
  },
  {
    name: "prints while it is printed",
    code: "console.log({ get a() { console.log(1); return 1 } }, new Proxy([], { get() { console.log(2) } })); return 1",
    returns: "1",
  },
  { name: "grows a buffer beyond all limits", code: "return new ArrayBuffer(2 ** 40)" },
  { name: "ends in the middle of a string", code: "return `" },
];

describe("a hostile guest", () => {
  let provider: IsolateProvider;
  let pids: number[];

  beforeAll(async () => {
    provider = createIsolateProvider();
    await runProgram(provider, { code: "" });
    pids = await provider.hostPids();
  });
  afterAll(() => provider.close());

  it.each(HOSTILE)(
    "that $name breaks neither its host nor its neighbours",
    async ({ code, returns, prints, fails }) => {
      const neighbour = runProgram(provider, {
        code: "await new Promise((resolve) => setTimeout(resolve, 30)); console.log([1, { a: 2 }]); return { b: [input] }",
        input: '"beside"',
      });
      const { outcome, stdout } = await runProgram(provider, { code });
      const after = await runProgram(provider, {
        code: 'console.log("%s", [3]); return { c: [input] }',
        input: '"after"',
      });
      if (stdout.includes("asked")) throw new Error("the console asked a guest's object");
      if (returns === undefined) expect(outcome.kind).toMatch(/^(returned|failed)$/);
      else expect(outcome).toEqual({ kind: "returned", output: returns === "null" ? null : returns });
      if (prints !== undefined) expect(stdout).toBe(prints);
      if (fails !== undefined) expect(outcome).toMatchObject({ failure: { message: fails } });
      if (outcome.kind === "failed") expect(outcome.failure.code).toMatch(/^(GUEST_ERROR|OUT_OF_MEMORY|OUTPUT_LIMIT)$/);
      expect(await neighbour).toMatchObject({ outcome: { output: '{"b":["beside"]}' }, stdout: "[ 1, { a: 2 } ]\n" });
      expect(after).toMatchObject({ outcome: { output: '{"c":["after"]}' }, stdout: "[ 3 ]\n" });
      expect(await provider.hostPids()).toEqual(pids);
    },
  );
});
