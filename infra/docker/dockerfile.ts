export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions of a Dockerfile, continuation lines joined, comments dropped. Enough for files without heredocs. */
export function parseDockerfile(source: string): Instruction[] {
  const joined = source
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("#"))
    .join("\n")
    .replaceAll(/\\\n\s*/g, " ");
  return joined
    .split("\n")
    .map((line) => /^\s*([A-Za-z]+)\s+(.*)$/.exec(line))
    .filter((match) => match !== null)
    .map((match) => ({ name: (match[1] as string).toUpperCase(), text: (match[2] as string).trim() }));
}

/** The instructions of the last stage: those that make the image. */
export function finalStage(instructions: readonly Instruction[]): Instruction[] {
  return instructions.slice(instructions.findLastIndex(({ name }) => name === "FROM"));
}
