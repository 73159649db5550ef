import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Compiled once in the host process and shared with its threads: code is shared, memory never. */
export interface EngineModules {
  readonly main: WebAssembly.Module;
  readonly extensions: readonly ExtensionModule[];
  /** SHA-256 of the binaries: a snapshot is of use only with the very code that it was taken under. */
  readonly hash: string;
}

export interface ExtensionModule {
  readonly name: string;
  readonly module: WebAssembly.Module;
}

/** Where the WebAssembly files lie. The worker resolves them, so that the host process needs no `node_modules`. */
export interface EngineFiles {
  readonly main: string;
  readonly extensions: readonly { readonly name: string; readonly path: string }[];
}

export function compileModules(files: EngineFiles): EngineModules {
  const hash = createHash("sha256");
  const compile = (path: string): WebAssembly.Module => {
    const bytes = readFileSync(path);
    hash.update(bytes);
    return new WebAssembly.Module(bytes);
  };
  const main = compile(files.main);
  const extensions = files.extensions.map(({ name, path }) => ({ name, module: compile(path) }));
  return { main, extensions, hash: hash.digest("hex") };
}
