import { readFileSync } from "node:fs";
import type { Language } from "@airlock/shared/domain";
import { agentSource } from "../../guests/agent-source.ts";

/** What speaks with the worker beside the program: its source goes in with the order to boot it. */
export interface Agent {
  /** Words without spaces; the file's path follows. */
  readonly command: string;
  readonly file: string;
  source(): string;
}

const NODE: Agent = { command: "node", file: "agent.cjs", source: agentSource };
const BUN: Agent = { command: "bun", file: "agent.cjs", source: agentSource };
const PYTHON: Agent = { command: "python3 -sB", file: "agent.py", source: pythonSource };

const AGENTS: Readonly<Record<Language, Agent>> = {
  JAVASCRIPT: NODE,
  TYPESCRIPT: NODE,
  BASH: NODE,
  BUN,
  PYTHON,
};

export function agentFor(language: Language): Agent {
  return AGENTS[language];
}

let python: string | null = null;

function pythonSource(): string {
  return (python ??= readFileSync(new URL("../../guests/python/agent.py", import.meta.url), "utf8"));
}
