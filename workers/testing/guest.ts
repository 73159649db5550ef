import { runInThisContext } from "node:vm";
import { afterAll } from "vitest";
import { createIsolateProvider } from "../src/sandboxes/isolate/index.ts";
import { runProgram } from "./run-program.ts";

export interface Guest {
  /** What the program returns, as JSON gives it; throws where it fails. */
  value(code: string): Promise<unknown>;
  /** What the program prints. */
  prints(code: string): Promise<{ stdout: string; stderr: string }>;
}

/** A provider for one test file, closed at its end. */
export function useGuest(): Guest {
  const provider = createIsolateProvider();
  afterAll(() => provider.close());
  const run = async (code: string) => {
    const ran = await runProgram(provider, { code });
    if (ran.outcome.kind !== "returned") throw new Error(JSON.stringify(ran.outcome));
    return { ...ran, text: ran.outcome.output };
  };
  return {
    value: async (code) => JSON.parse((await run(code)).text ?? "null") as unknown,
    prints: run,
  };
}

/** What the same program returns in Node: the judge in all that guests and Node have in common. */
export async function nodeValue(code: string): Promise<unknown> {
  const returned: unknown = await runInThisContext(`(async () => {${code}\n})()`);
  return JSON.parse(JSON.stringify(returned) ?? "null") as unknown;
}
