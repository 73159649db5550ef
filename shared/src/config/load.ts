import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type Config, configSchema, defineConfig } from "./definition.ts";

const FILE = "airlock.config.ts";

export interface LoadedConfig {
  /** Absolute. */
  readonly file: string;
  readonly config: Config;
}

/**
 * The configuration file that was named, or `airlock.config.ts` in the working folder; null where there is none. Its
 * default export is the configuration, or a function that is given `defineConfig` and answers it: so a file far from our
 * node_modules needs no import.
 */
export async function loadConfig(named: string | null, cwd: string = process.cwd()): Promise<LoadedConfig | null> {
  const file = path.resolve(cwd, named ?? FILE);
  if (!existsSync(file)) {
    if (named === null) return null;
    throw new Error(`AIRLOCK_CONFIG names ${file}, which does not exist`);
  }
  const parsed = configSchema.safeParse(await defaultExportOf(file));
  if (parsed.success) return { file, config: parsed.data };
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new Error(`${file} is not usable:\n${faults.join("\n")}`);
}

async function defaultExportOf(file: string): Promise<unknown> {
  try {
    const module = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as { default?: unknown };
    const made = module.default;
    return typeof made === "function" ? ((await made({ defineConfig })) as unknown) : made;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${file} cannot be loaded: ${reason}`, { cause: error });
  }
}
