import { listProjectTools, type ProjectTool, toolTypes } from "../../use-cases/tools.ts";
import { builder } from "../builder.ts";
import { PolicyModeType } from "../policy/enums.ts";

const ToolType = builder.objectRef<ProjectTool>("Tool").implement({
  fields: (t) => ({
    path: t.exposeString("path"),
    description: t.exposeString("description"),
    inputSchema: t.field({ type: "JSON", resolve: (tool) => JSON.parse(tool.input_schema) }),
    outputSchema: t.field({
      type: "JSON",
      nullable: true,
      description: "Null: any JSON.",
      resolve: (tool) => (tool.output_schema === null ? null : JSON.parse(tool.output_schema)),
    }),
    mode: t.expose("mode", {
      type: PolicyModeType,
      description: "In this project, whatever the input; REQUIRED where that depends on the input.",
    }),
    source: t.exposeString("source"),
  }),
});

const SEARCH = "Words, each of which is in a tool's path or description.";

builder.queryFields((t) => ({
  tools: t.field({
    type: [ToolType],
    scope: "read",
    args: { search: t.arg.string({ description: SEARCH }) },
    resolve: (_, { search }, { app, caller }) => listProjectTools(app, caller, search),
  }),
  toolTypes: t.field({
    type: "String",
    scope: "read",
    description: "TypeScript declarations of `tools` and `input`, ready for a model's prompt.",
    args: { search: t.arg.string({ description: SEARCH }) },
    resolve: (_, { search }, { app, caller }) => toolTypes(app, caller, search),
  }),
}));
