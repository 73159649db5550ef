import { type Caller, isPublished, type TaskRow } from "@airlock/shared/db";
import { ApiError, DEFAULT_ENVIRONMENT, toolPathFault } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { listFunctions } from "./functions.ts";
import { submitTask } from "./submit-task.ts";

/** One tool call as a task: what the tool answers is the task's output. */
export async function callTool(
  app: App,
  caller: Caller,
  given: { path: string; input?: unknown; idempotencyKey?: string | null | undefined },
): Promise<TaskRow> {
  const { path, input, idempotencyKey } = given;
  const fault = toolPathFault(path);
  if (fault !== null) throw new ApiError("BAD_INPUT", `path: ${fault}`);
  if (!(await isPublished(app.db, path)) && !(await isFunction(app, caller, path))) {
    throw new ApiError("BAD_INPUT", `path: there is no tool ${JSON.stringify(path)}; the query \`tools\` lists them`);
  }
  const members = path.split(".").map((segment) => `[${JSON.stringify(segment)}]`);
  return submitTask(app, caller, {
    code: `return await tools${members.join("")}(input)`,
    language: "JAVASCRIPT",
    // Whatever the project's default is: it may not run JavaScript.
    environment: DEFAULT_ENVIRONMENT,
    input,
    idempotencyKey,
  });
}

async function isFunction(app: App, caller: Caller, path: string): Promise<boolean> {
  return (await listFunctions(app, caller)).some((one) => one.path === path);
}
