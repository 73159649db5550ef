import type { ToolMode } from "@airlock/shared/db";
import type { JsonSchema, Tool } from "./tool.ts";

/** What a worker publishes about a tool: all that the gateway ever knows of it. */
export interface ToolManifest {
  readonly path: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  readonly version: string;
  readonly mode: ToolMode;
  readonly idempotent: boolean;
  readonly approvalMs: number;
  /** `built-in`, or the file or package that it came from. */
  readonly source: string;
}

export function manifestOf(tool: Tool, source: string): ToolManifest {
  const { path, description, inputSchema, outputSchema, version, mode, idempotent, approvalMs } = tool;
  return { path, description, inputSchema, outputSchema, version, mode, idempotent, approvalMs, source };
}
