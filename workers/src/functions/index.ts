import type { Tool } from "../tools/tool.ts";
import { createFunctionCatalog } from "./catalog.ts";
import { functionTool } from "./function-tool.ts";
import type { FunctionRunner } from "./run-function.ts";

/** The stored functions of projects, as tools. */
export interface FunctionTools {
  find(projectId: string, path: string): Promise<Tool | undefined>;
  /** Somebody changed them. */
  forget(projectIds: readonly string[]): void;
  forgetAll(): void;
}

export function createFunctionTools(runner: FunctionRunner): FunctionTools {
  const catalog = createFunctionCatalog(runner.db);
  return {
    async find(projectId, path) {
      const row = await catalog.find(projectId, path);
      return row && functionTool(runner, row);
    },
    forget: (projectIds) => catalog.forget(projectIds),
    forgetAll: () => catalog.forgetAll(),
  };
}
