import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { createIsolateProvider, type IsolateProvider } from "./index.ts";

const SECRET = randomUUID();
const NAME = "AIRLOCK_TEST_CREDENTIAL";

/** Every string that a program can reach from its globals, by names, values, prototypes and source texts. */
const WALK = `
  const seen = new Set(), found = [], queue = [globalThis, new Error("x").stack, (function () {}).constructor];
  while (queue.length > 0) {
    const value = queue.pop();
    if (typeof value === "string") { found.push(value); continue; }
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
    seen.add(value);
    queue.push(Object.getPrototypeOf(value));
    try { queue.push(Function.prototype.toString.call(value)); } catch {}
    for (const key of Reflect.ownKeys(value)) {
      queue.push(String(key));
      const { value: own, get } = Object.getOwnPropertyDescriptor(value, key);
      queue.push(own, get);
      // Not of data: every property of tools is another proxy, without end.
      if (get !== undefined) try { queue.push(value[key]); } catch {}
    }
  }
  return { count: seen.size, found: [...new Set(found)] };`;

describe.each([
  ["as confined here", undefined],
  ["without bubblewrap", "/nowhere/bwrap"],
])("the host process, %s", (_, bubblewrap) => {
  let provider: IsolateProvider;

  beforeAll(async () => {
    process.env[NAME] = SECRET;
    provider = createIsolateProvider(bubblewrap === undefined ? {} : { bubblewrap });
    await runProgram(provider, { code: "return 1" });
  });
  afterAll(async () => {
    Reflect.deleteProperty(process.env, NAME);
    await provider.close();
  });

  it("proves its walls", async () => {
    expect(await provider.probe()).toMatchObject({ available: true });
  });

  it("has an environment built from nothing, and no credential on its command line", async () => {
    const pids = (await provider.hostPids()).flatMap((pid) => [pid, ...childrenOf(pid)]);
    const environments = pids.map((pid) => readOf(pid, "environ"));
    // bubblewrap itself sets PWD for the process that it starts.
    expect(environments.join("").replaceAll("PWD=/\0", "")).toBe("");
    expect(pids.map((pid) => readOf(pid, "cmdline")).join("")).not.toContain(SECRET);
  });

  it("shows its guests neither the credential nor a path of the host", async () => {
    const { outcome } = await runProgram(provider, { code: WALK });
    if (outcome.kind !== "returned") throw new Error(JSON.stringify(outcome));
    const { count, found } = JSON.parse(outcome.output ?? "") as { count: number; found: string[] };
    expect(count).toBeGreaterThan(500);
    const forbidden = [SECRET, NAME, process.cwd(), "node_modules", "file:", "airlock:"];
    expect(found.filter((text) => forbidden.some((word) => text.includes(word)))).toEqual([]);
  });
});

/** Elsewhere than on Linux nothing is seen. */
function readOf(pid: number, file: string): string {
  return process.platform === "linux" ? readFileSync(`/proc/${pid}/${file}`, "latin1") : "";
}

function childrenOf(pid: number): number[] {
  if (process.platform !== "linux") return [];
  const threads = readdirSync(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) => readOf(pid, `task/${thread}/children`).split(" ").filter(Boolean));
  return children.map(Number).flatMap((child) => [child, ...childrenOf(child)]);
}
