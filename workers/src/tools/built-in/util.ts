import { setTimeout as sleep } from "node:timers/promises";
import { CALL_LIMITS } from "@airlock/shared/domain";
import { z } from "zod";
import { defineTool } from "../define-tool.ts";

const MAX_SLEEP_MS = 30 * 24 * 3600_000;

export const echo = defineTool({
  path: "util.echo",
  description: "Answers with the value that it is given.",
  input: z.strictObject({ value: z.unknown().optional().describe("Any JSON.") }),
  policy: "auto",
  idempotent: true,
  // There is no JSON for "nothing".
  run: async (_context, { value }) => value ?? null,
});

export const sleepTool = defineTool({
  path: "util.sleep",
  description: "Waits. A long wait takes no worker: the task parks until it is over.",
  input: z.strictObject({ ms: z.number().min(0).max(MAX_SLEEP_MS).describe("At most 30 days.") }),
  output: z.null(),
  policy: "auto",
  idempotent: true,
  parks: ({ ms }) => (ms > CALL_LIMITS.patienceMs ? { kind: "timer", ms: Math.ceil(ms) } : null),
  run: async ({ signal }, { ms }) => {
    await sleep(ms, undefined, { signal });
    return null;
  },
});
