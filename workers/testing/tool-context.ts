import { newId } from "@airlock/shared/contracts";
import type { Database } from "@airlock/shared/db";
import { createLogger } from "@airlock/shared/runtime";
import { parseInput } from "../src/tools/parse-input.ts";
import type { Tool, ToolContext } from "../src/tools/tool.ts";

export function toolContext(given: Partial<ToolContext> = {}): ToolContext {
  return {
    projectId: newId(),
    taskId: newId(),
    session: null,
    callIndex: 0,
    idempotencyKey: "task/0",
    signal: new AbortController().signal,
    secrets: { get: () => undefined },
    log: createLogger({ program: "test", level: "silent" }),
    // A tool that is given no database and uses one fails, which is what its test should show.
    db: undefined as unknown as Database,
    ...given,
  };
}

/** Checks the input as the desk does, then runs. */
export function call(tool: Tool, input: unknown, context: Partial<ToolContext> = {}): Promise<unknown> {
  const parsed = parseInput(tool, input);
  if (!parsed.ok) return Promise.reject(new Error(`BAD_TOOL_INPUT: ${parsed.message}`));
  return tool.run(toolContext(context), parsed.value);
}
