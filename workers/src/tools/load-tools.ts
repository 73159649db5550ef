import type { Store } from "@airlock/shared/files";
import { z } from "zod";
import { locateModule } from "../locate-module.ts";
import { createBuiltInTools } from "./built-in/index.ts";
import { defineTool, isTool } from "./define-tool.ts";
import type { ToolKit } from "./plugin.ts";
import type { SourcedTool } from "./registry.ts";
import type { Tool } from "./tool.ts";
import { ToolError } from "./tool-error.ts";

export interface LoadOptions {
  /** What built-in tools read files from. */
  readonly store: Pick<Store, "read">;
  /** `host:port` that http.request may reach although they are not on the public internet. */
  readonly httpAllow?: readonly string[];
  /** Where relative files and packages are looked for (the working directory). */
  readonly cwd?: string;
}

/** The built-in tools, and those of each plugin module: a file or a package. */
export async function loadTools(specifiers: readonly string[], options: LoadOptions): Promise<SourcedTool[]> {
  const builtIn = createBuiltInTools({ store: options.store, httpAllow: options.httpAllow ?? [] });
  const tools = builtIn.map((tool): SourcedTool => ({ tool, source: "built-in" }));
  return [...tools, ...(await loadPlugins(specifiers, options.cwd ?? process.cwd()))];
}

/** Those of plugin modules alone; relative files and packages are looked for from `cwd`. */
export async function loadPlugins(specifiers: readonly string[], cwd: string): Promise<SourcedTool[]> {
  const tools: SourcedTool[] = [];
  for (const specifier of specifiers) {
    const found = await loadModule(specifier, cwd);
    tools.push(...found.map((tool) => ({ tool, source: specifier })));
  }
  return tools;
}

async function loadModule(specifier: string, cwd: string): Promise<Tool[]> {
  try {
    const url = locateModule(specifier, cwd);
    const found = await toolsOf((await import(/* @vite-ignore */ url)) as Record<string, unknown>);
    if (found.length === 0)
      throw new Error("it exports no tool (a default export or named exports made by defineTool)");
    return found;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the tool module ${JSON.stringify(specifier)} cannot be used: ${reason}`, { cause: error });
  }
}

const KIT: ToolKit = { defineTool, ToolError, z };

/**
 * Exports that are no tools are the module's own business, but one that looks like a tool must be a good one. A plugin
 * far from our node_modules may also export plain definitions, or by default a function that is given what it needs.
 */
async function toolsOf(module: Readonly<Record<string, unknown>>): Promise<Tool[]> {
  const found = new Map<unknown, Tool>();
  for (const [name, value] of Object.entries(module)) {
    const made: unknown = name === "default" && typeof value === "function" ? await value(KIT) : value;
    for (const one of Array.isArray(made) ? (made as unknown[]) : [made]) {
      if (found.has(one)) continue;
      if (isTool(one)) found.set(one, one);
      else if (isDefinition(one)) found.set(one, defineTool(one));
    }
  }
  return [...found.values()];
}

function isDefinition(value: unknown): value is Parameters<typeof defineTool>[0] {
  if (typeof value !== "object" || value === null) return false;
  return "path" in value && "input" in value && ("run" in value || "parks" in value);
}
