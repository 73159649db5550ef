import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const IMPORT = /^import\s+([^;]*?)\s*from\s*"([^"]+)";$/gm;

let source: string | null = null;

/** The agent as one CommonJS script: a sandbox has nothing of Airlock but this text. From sources and builds alike. */
export function agentSource(): string {
  source ??= bundle(fileURLToPath(new URL(`./agent/main${EXTENSION}`, import.meta.url)));
  return source;
}

/** The agent of Python is one file as it is. */
export function pythonAgentSource(): string {
  return readFileSync(fileURLToPath(new URL("./python/agent.py", import.meta.url)), "utf8");
}

function bundle(entry: string): string {
  const seen = new Set<string>();
  const parts: string[] = [];
  const builtIn = new Map<string, Set<string>>();
  const add = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, "utf8");
    const plain = EXTENSION === ".ts" ? strip(text) : text;
    const body = plain.replaceAll(IMPORT, (_, clause: string, specifier: string) => {
      if (specifier.startsWith(".")) add(path.resolve(path.dirname(file), specifier));
      else for (const name of namesIn(clause)) builtIn.set(specifier, (builtIn.get(specifier) ?? new Set()).add(name));
      return "";
    });
    parts.push(
      body.replaceAll(/^export (?=(?:async )?(?:function|const|class)\b)/gm, "").replaceAll(/^\/\/#.*$/gm, ""),
    );
  };
  add(entry);
  const loads = [...builtIn].map(
    ([name, from]) => `const { ${[...from].join(", ")} } = require(${JSON.stringify(name)});`,
  );
  return `"use strict";\n{\n${[...loads, ...parts].join("\n")}\n}\n`;
}

/** Of `{ one, two }`: the agent imports by name alone. */
function namesIn(clause: string): string[] {
  return clause.match(/\w+/g) ?? [];
}

/** In silence: that Node calls it an experiment is no news for an operator. */
function strip(text: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(text, { mode: "strip" });
  } finally {
    process.emitWarning = emitWarning;
  }
}
