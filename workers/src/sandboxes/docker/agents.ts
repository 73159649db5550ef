import type { Language } from "@airlock/shared/domain";
import { agentSource } from "../../guests/agent-source.ts";
import { pythonAgentSource } from "../../guests/python-source.ts";

/** What speaks with the worker beside the program: its source goes in with the order to boot it. */
export interface Agent {
  /** Words without spaces; the file's path follows. */
  readonly command: string;
  readonly file: string;
  source(): string;
}

const NODE: Agent = { command: "node", file: "agent.cjs", source: agentSource };
const BUN: Agent = { command: "bun", file: "agent.cjs", source: agentSource };
const PYTHON: Agent = { command: "python3 -I -B", file: "agent.py", source: pythonAgentSource };

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
