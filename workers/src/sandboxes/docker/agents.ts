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
/** Nothing of the work area decides how Bun runs the agent, and no package is asked for over a network. */
const BUN: Agent = {
  command: "bun --no-install --no-env-file --config=/dev/null",
  file: "agent.cjs",
  source: agentSource,
};
const PYTHON: Agent = { command: "python3 -sB", file: "agent.py", source: pythonSource };

const AGENTS: Readonly<Record<Language, Agent>> = {
  JAVASCRIPT: NODE,
  TYPESCRIPT: NODE,
  BASH: NODE,
  BUN,
  PYTHON,
};

/** What an image must have for a language. */
const PROGRAMS: Readonly<Record<Language, readonly string[]>> = {
  JAVASCRIPT: ["node"],
  TYPESCRIPT: ["node"],
  BASH: ["node", "bash"],
  BUN: ["bun"],
  PYTHON: ["python3"],
};

export const ALL_PROGRAMS = [...new Set(Object.values(PROGRAMS).flat())];

export function languagesWith(programs: readonly string[]): Language[] {
  return (Object.keys(PROGRAMS) as Language[]).filter((language) =>
    PROGRAMS[language].every((program) => programs.includes(program)),
  );
}

export function agentFor(language: Language): Agent {
  return AGENTS[language];
}

let python: string | null = null;

function pythonSource(): string {
  return (python ??= readFileSync(new URL("../../guests/python/agent.py", import.meta.url), "utf8"));
}
