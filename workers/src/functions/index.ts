import type { FunctionRow } from "@airlock/shared/db";
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
  /** A schema is compiled once for each reading of its row, not with each look at a call. */
  const made = new WeakMap<FunctionRow, Tool>();

  function toolOf(row: FunctionRow): Tool {
    const tool = made.get(row) ?? functionTool(runner, row);
    made.set(row, tool);
    return tool;
  }

  return {
    async find(projectId, path) {
      const row = await catalog.find(projectId, path);
      return row && toolOf(row);
    },
    forget: (projectIds) => catalog.forget(projectIds),
    forgetAll: () => catalog.forgetAll(),
  };
}
