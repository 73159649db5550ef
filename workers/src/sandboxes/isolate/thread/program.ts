import { stripTypeScriptTypes } from "node:module";

/** A program that could not be made ready to run. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
}

/** `stripTypeScriptTypes` refuses a `return` outside of a function, so that the code is stripped inside of one. */
const STRIP_HEAD = "async () => {\n";
const STRIP_TAIL = "\n}";

/** Replaces types by blanks: every line and column stays where the author wrote it. */
export function stripTypes(code: string): string {
  try {
    const stripped = stripTypeScriptTypes(STRIP_HEAD + code + STRIP_TAIL, { mode: "strip" });
    return stripped.slice(STRIP_HEAD.length, stripped.length - STRIP_TAIL.length);
  } catch (error) {
    throw new ProgramError(stripFailure(code, error as Error));
  }
}

function stripFailure(code: string, error: Error): string {
  // Node puts `:<line>` and the marked source line before the message, in the stack only.
  const line = Number(/^[^\n]*:(\d+)\n/.exec(error.stack ?? "")?.[1] ?? 0) - 1;
  const where = line > 0 ? ` (task.ts:${line})` : "";
  if (error.message.includes("'import', and 'export'")) return `${noModules(code)}${where}`;
  return `SyntaxError: ${error.message}${where}`;
}

const MODULE_SYNTAX = /^[ \t]*(?:import\b(?!\s*[(.])|export\b).*$/m;

/** Whether a syntax error may come from an `import` or `export` statement. */
export function usesModuleSyntax(code: string): boolean {
  return MODULE_SYNTAX.test(code);
}

export function noModules(code: string): string {
  const statement = MODULE_SYNTAX.exec(code)?.[0].trim().slice(0, 120);
  return `SyntaxError: there are no modules in the isolate, so \`import\` and \`export\` do not work${
    statement === undefined ? "" : `: ${statement}`
  }`;
}

/** The author's first line is line 1 when the script, whose first two lines are ours, begins at line -1. */
export const FIRST_LINE = -1;

/**
 * The script that gives the program as a function. The label ties the last line to the first: code that closes our
 * block and opens another does not compile, as it cannot know a label that it does not contain.
 */
export function wrapProgram(code: string): string {
  let label = "body";
  while (code.includes(label)) label += "_";
  return `(async (input) => { ${label}: {\n\n${code}\nbreak ${label}; } })`;
}
