import type { z } from "zod";
import type { defineTool } from "./define-tool.ts";
import type { Tool } from "./tool.ts";
import type { ToolError } from "./tool-error.ts";

/** What the authors of tools import, as `@airlock/workers/plugin`; nothing else of this package is theirs. */
export { defineTool, type ToolDefinition } from "./define-tool.ts";
export type { JsonSchema, Parking, Tool, ToolContext } from "./tool.ts";
export { ToolError } from "./tool-error.ts";

/** What a plugin's function is given, so that a file far from our node_modules needs no import but types. */
export interface ToolKit {
  readonly defineTool: typeof defineTool;
  readonly ToolError: typeof ToolError;
  readonly z: typeof z;
}

/** The default export of a plugin. */
export type ToolPlugin = (kit: ToolKit) => Tool | readonly Tool[] | Promise<Tool | readonly Tool[]>;
