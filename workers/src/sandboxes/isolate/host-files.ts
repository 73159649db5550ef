import { fileURLToPath } from "node:url";
import type { EngineFiles } from "./engine/modules.ts";

const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const EXTENSIONS = ["url", "encoding", "structured-clone"] as const;

export interface HostFiles {
  readonly entry: string;
  readonly engine: EngineFiles;
  /** All that a host process reads. */
  readonly readable: readonly string[];
}

export function findHostFiles(): HostFiles {
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const shipped = (name: string) => fileURLToPath(import.meta.resolve(`quickjs-wasi/${name}`));
  const engine: EngineFiles = {
    main: shipped("quickjs.wasm"),
    extensions: EXTENSIONS.map((name) => ({ name, path: shipped(`${name}.so`) })),
  };
  return {
    entry: here(`./host/main${EXTENSION}`),
    engine,
    readable: [
      here("./"),
      here("../rules/"),
      here("../../guests/isolate/"),
      here("../../guests/javascript/"),
      // Says that the files are ES modules.
      here("../../../package.json"),
      engine.main,
      ...engine.extensions.map(({ path }) => path),
    ].map((path) => path.replace(/\/$/, "")),
  };
}
