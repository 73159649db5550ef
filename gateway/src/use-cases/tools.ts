import { type Caller, listPolicies, listTools, toPolicyRule, type ToolRow } from "@airlock/shared/db";
import { judge, type PolicyMode, type PolicyRule } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { renderToolTypes } from "../tool-types/index.ts";

/** A tool as a project sees it. */
export interface ProjectTool extends Omit<ToolRow, "mode"> {
  readonly mode: PolicyMode;
}

/** By path. A tool is found where each word of the search is in its path or description. */
export async function listProjectTools(
  app: App,
  caller: Caller,
  search: string | null | undefined,
): Promise<ProjectTool[]> {
  const [tools, policies] = await Promise.all([listTools(app.db), listPolicies(app.db, caller.projectId)]);
  const rules = policies.map(toPolicyRule).filter((rule) => rule.scope === "PROJECT" && rule.inputHash === null);
  const words = (search ?? "").toLowerCase().split(/\s+/);
  return tools
    .filter(({ path, description }) => words.every((word) => `${path} ${description}`.toLowerCase().includes(word)))
    .map((tool) => ({ ...tool, mode: modeOf(tool, rules) }));
}

/** Whatever the input, the task and the session. */
function modeOf(tool: ToolRow, rules: readonly PolicyRule[]): PolicyMode {
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
