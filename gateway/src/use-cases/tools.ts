import {
  type Caller,
  type FunctionRow,
  listFunctionsOf,
  listPolicies,
  listTools,
  toPolicyRule,
  type ToolRow,
} from "@airlock/shared/db";
import { judge, type PolicyMode, type PolicyRule } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { renderToolTypes } from "../tool-types/index.ts";

type Listed = Pick<ToolRow, "path" | "description" | "input_schema" | "output_schema" | "mode" | "source">;

/** A tool as a project sees it. */
export interface ProjectTool extends Omit<Listed, "mode"> {
  readonly mode: PolicyMode;
}

/** By path. A tool is found where each word of the search is in its path or description. */
export async function listProjectTools(
  app: App,
  caller: Caller,
  search: string | null | undefined,
): Promise<ProjectTool[]> {
  const [tools, [functions = []], policies] = await Promise.all([
    listTools(app.db),
    listFunctionsOf(app.db, [caller.projectId]),
    listPolicies(app.db, caller.projectId),
  ]);
  const rules = policies.map(toPolicyRule).filter((rule) => rule.scope === "PROJECT" && rule.inputHash === null);
  const words = (search ?? "").toLowerCase().split(/\s+/);
  return withFunctions(tools, functions)
    .filter(({ path, description }) => words.every((word) => `${path} ${description}`.toLowerCase().includes(word)))
    .map((tool) => ({ ...tool, mode: modeOf(tool, rules) }));
}

/** A tool that workers have meanwhile under a function's path is the one that is called. */
function withFunctions(tools: readonly Listed[], functions: readonly FunctionRow[]): Listed[] {
  const taken = new Set(tools.map(({ path }) => path));
  const own = functions.filter(({ path }) => !taken.has(path)).map(asTool);
  return [...tools, ...own].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function asTool({ path, description, input_schema, mode }: FunctionRow): Listed {
  return { path, description, input_schema, output_schema: null, mode, source: "function" };
}

/** Whatever the input, the task and the session. */
function modeOf(tool: Listed, rules: readonly PolicyRule[]): PolicyMode {
  const subject = { path: tool.path, inputHash: "", taskId: "", session: null, now: new Date() };
  return judge(rules, subject, tool.mode === "BY_INPUT" ? "REQUIRED" : tool.mode).mode;
}

/** What policy denies is left out: a model that does not know it does not try it. */
export async function toolTypes(app: App, caller: Caller, search: string | null | undefined): Promise<string> {
  const tools = await listProjectTools(app, caller, search);
  return renderToolTypes(
    tools
      .filter((tool) => tool.mode !== "DENY")
      .map(({ path, description, input_schema, output_schema }) => ({
        path,
        description,
        inputSchema: JSON.parse(input_schema) as unknown,
        outputSchema: output_schema === null ? null : (JSON.parse(output_schema) as unknown),
      })),
  );
}
