import type { Language } from "@airlock/shared/domain";
import { agentSource, pythonAgentSource } from "./agent-source.ts";

export interface AgentOnPath {
  /** Found where the sandbox looks for programs. */
  readonly program: "node" | "python3";
  readonly file: "agent.cjs" | "agent.py";
}

const NODE: AgentOnPath = { program: "node", file: "agent.cjs" };
const PYTHON: AgentOnPath = { program: "python3", file: "agent.py" };

/** Which agent runs a language, on machines that are not this worker's. */
export const AGENTS_ON_PATH: Readonly<Partial<Record<Language, AgentOnPath>>> = {
  JAVASCRIPT: NODE,
  TYPESCRIPT: NODE,
  BASH: NODE,
  PYTHON,
};

export const LANGUAGES_ON_PATH = Object.keys(AGENTS_ON_PATH) as Language[];

/** By the names of their files. */
export function agentTexts(): Readonly<Record<AgentOnPath["file"], string>> {
  return { "agent.cjs": agentSource(), "agent.py": pythonAgentSource() };
}
