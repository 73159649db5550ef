import { manifestOf, type ToolManifest } from "./manifest.ts";
import type { Tool } from "./tool.ts";

export interface SourcedTool {
  readonly tool: Tool;
  readonly source: string;
}

/** The tools of one worker, fixed when it starts. */
export interface ToolRegistry {
  get(path: string): Tool | undefined;
  all(): readonly Tool[];
  manifests(): readonly ToolManifest[];
}

export function createRegistry(tools: readonly SourcedTool[]): ToolRegistry {
  const byPath = new Map<string, SourcedTool>();
  for (const one of tools) {
    const first = byPath.get(one.tool.path);
    if (first !== undefined) {
      throw new Error(`two tools are called ${one.tool.path}: one from ${first.source}, one from ${one.source}`);
    }
    byPath.set(one.tool.path, one);
  }
  const all = [...byPath.values()].map(({ tool }) => tool);
  const manifests = [...byPath.values()].map(({ tool, source }) => manifestOf(tool, source));
  return { get: (path) => byPath.get(path)?.tool, all: () => all, manifests: () => manifests };
}
