import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

/** A path, or a file that is there, is a file; anything else is a package of the operator's or else of ours. */
export function locateModule(specifier: string, cwd: string): string {
  const file = path.resolve(cwd, specifier);
  if (/^\.{0,2}\//.test(specifier) || path.isAbsolute(specifier) || existsSync(file)) {
    if (!existsSync(file)) throw new Error(`there is no file ${file}`);
    return pathToFileURL(file).href;
  }
  try {
    return pathToFileURL(createRequire(path.join(cwd, "module.js")).resolve(specifier)).href;
  } catch {
    return specifier;
  }
}
